# Needs Python 3.11+, make and git; everything else comes into .venv from requirements.lock.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
RUN := $(BIN)/python -m dpsim

# Nothing is compiled before it is imported, so what is imported must be kept: in containers this is often set.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help env test-env figures test types pytest lab notebooks report ledger site extras archive audit fuzz faults bench lock clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

env:  ## build .venv from the lock, when it is missing, was made elsewhere, or the lock has changed
	@{ cmp -s requirements.lock .venv/requirements.lock && [ "$$(cat .venv/checkout 2>/dev/null)" = "$$(pwd -P)" ]; } || { \
	  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, not " + sys.version.split()[0] + ": make PYTHON=python3.11 ...")' \
	  && if [ -f .venv/checkout ] && [ "$$(cat .venv/checkout)" != "$$(pwd -P)" ]; then \
	    echo "this .venv was made in $$(cat .venv/checkout) and would run the code there, so it is built anew"; fi \
	  && echo "building .venv from requirements.lock (a few minutes, once)" \
	  && rm -rf .venv && $(PYTHON) -m venv .venv \
	  && $(PIP) -r requirements.lock \
	  && $(PIP) --no-build-isolation --no-deps --config-settings editable_mode=compat -e . -e ./release \
	  && pwd -P >.venv/checkout && cp requirements.lock .venv/requirements.lock; }
	@cp -R tools/jupyter/. .venv  # alternative texts in pages of nbconvert; JupyterLab lays out all cells, so that a jump lands

test-env: env
	@cmp -s tools/locks/test.lock .venv/test.lock || { \
	  echo "installing the test tools from tools/locks/test.lock" \
	  && $(PIP) --no-deps --require-hashes -r tools/locks/test.lock \
	  && cp tools/locks/test.lock .venv/test.lock; }

figures: env  ## run every notebook whose figures are not current, then compare with what the papers print
	$(RUN) run
	$(RUN) report

TESTS ?= -m "not full" --ignore tests/site --ignore tests/tools --ignore tests/fuzz

test: test-env  ## ruff, mypy, the import contracts, the lengths of texts and the tests (TESTS="..." for other arguments of pytest; all but full runs, the site, the tools and the fuzz, which CI runs too)
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	+@$(MAKE) --no-print-directory -j 2 types pytest

types:
	$(BIN)/mypy
	$(BIN)/mypy -p release.tools
	$(BIN)/lint-imports
	$(BIN)/python -m tools.lint

pytest:  # a worker a core, so a thread a worker
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal $(TESTS) $(OPTIONS)

lab: env  ## open the notebooks in JupyterLab (OPTIONS="--no-browser" for options of its own)
	@case "$$(id -u) $(OPTIONS)" in \
	  *--allow-root*|[1-9]*) ;; \
	  *) echo "JupyterLab does not start for root. Use another user or, in a container, make lab OPTIONS=--allow-root"; exit 1 ;; \
	esac
	$(BIN)/jupyter lab --ServerApp.root_dir=. $(OPTIONS) notebooks/00_overview.ipynb

notebooks: env  ## run all notebooks and refresh what is committed: their outputs, the report, README's table
	$(RUN) run
	$(BIN)/python -m tools.notebooks
	$(BIN)/python -m tools.archive --metadata
	$(RUN) report

report: env  ## print published and reproduced side by side
	$(BIN)/python -m tools.archive --metadata
	$(RUN) report

ledger: env  ## after an edit of data/published.csv, findings.csv or papers.csv: check every row, and write data/ledger.sha256
	$(BIN)/python -c "from dpsim import ledger; ledger.write_checksums()"

# What comes on top of the lock is locked too, so nothing is resolved again (--no-deps).
# Extras live beside .venv, not in it: the key of a run holds the installed versions, and these change no figure.
PIP_TARGET = $(PIP) --require-hashes --no-deps
SITE := build/site-packages
EXTRA := build/extra-packages
ARCHIVE := build/archive-packages

site: test-env  ## build the static site from the committed notebooks into build/site (needs npm once, for MathJax), and test it in chromium
	@cmp -s tools/locks/site.lock $(SITE)/requirements.lock || { \
	  echo "installing Sphinx from tools/locks/site.lock" && rm -rf $(SITE) \
	  && $(PIP_TARGET) --target $(SITE) -r tools/locks/site.lock \
	  && cp tools/locks/site.lock $(SITE)/requirements.lock; }
	PYTHONPATH=$(SITE) $(BIN)/python tools/site/build.py
	PYTHONPATH="$$PWD/$(SITE)" DPSIM_SITE=build/site $(BIN)/python -m pytest tests/site/test_site.py
	@echo "built: open it with $(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site"

extras: env  ## install Spark and Dask as locked into build/extra-packages, for PYTHONPATH
	@cmp -s tools/locks/cluster.lock $(EXTRA)/requirements.lock || { \
	  echo "installing tools/locks/cluster.lock" && rm -rf $(EXTRA) \
	  && $(PIP_TARGET) --target $(EXTRA) -r tools/locks/cluster.lock \
	  && cp tools/locks/cluster.lock $(EXTRA)/requirements.lock; }

archive: env  ## one zip of sources, executed notebooks, figures, data and what made what (build/archive), after `make figures`
	@cmp -s tools/locks/archive.lock $(ARCHIVE)/requirements.lock || { \
	  echo "installing tools/locks/archive.lock" && rm -rf $(ARCHIVE) \
	  && $(PIP_TARGET) --target $(ARCHIVE) -r tools/locks/archive.lock \
	  && cp tools/locks/archive.lock $(ARCHIVE)/requirements.lock; }
	PYTHONPATH=$(ARCHIVE) $(BIN)/python -m tools.archive

audit: test-env  ## draws against every privacy claim, closed forms against many digits, verdicts against 20 seeds (three quarters of an hour)
	$(BIN)/python -m pytest -n auto --dist worksteal tests/tools
	$(BIN)/python -m tools.verify.privacy_audit
	$(BIN)/python -m tools.verify.precision
	$(BIN)/python -m tools.verify.verdict_seeds

fuzz: test-env  ## new cases for every property; 10,000 of every public function; notebooks at the ends of their parameters (some hours)
	$(BIN)/python -m pytest -m hypothesis --ignore tests/fuzz --hypothesis-profile=long -n auto
	$(BIN)/python -m pytest tests/fuzz tests/fuzz/notebook_ends.py release/tests/all_neighbours.py --hypothesis-profile=long -n auto --dist worksteal

faults: test-env  ## kill, fill the disk, damage data, on purpose, with runs of full size (half an hour)
	$(BIN)/python tests/faults/faults.py --full

bench: test-env  ## measure against what people use today, side by side; writes tools/bench/results
	$(BIN)/python -m tools.bench.compare --write

lock: env  ## make the locks and environment.yml anew from pyproject.toml (needs uv)
	$(BIN)/python tools/lock.py

clean:  ## remove runs and caches (not .venv, not figures)
	rm -rf build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find dpsim release tests tools -name __pycache__ -prune -exec rm -rf {} +
