# Needs Python 3.11+, make and git; everything else comes into .venv from requirements.lock.
PYTHON ?= python3
BIN := .venv/bin
RUN := $(BIN)/python -m dpsim

.DEFAULT_GOAL := help
.PHONY: help env figures test lab notebooks report site extras audit fuzz faults bench lock clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

env:  ## build .venv from the lock, when it is missing or the lock has changed
	@cmp -s requirements.lock .venv/requirements.lock || { \
	  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, not " + sys.version.split()[0] + ": make PYTHON=python3.11 ...")' \
	  && echo "building .venv from requirements.lock (a few minutes, once)" \
	  && rm -rf .venv && $(PYTHON) -m venv .venv \
	  && $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock \
	  && $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . \
	  && cp requirements.lock .venv/requirements.lock; }

figures: env  ## run every notebook whose figures are not current, then compare with what the papers print
	$(RUN) run
	$(RUN) report

test: env  ## ruff, mypy and the tests
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto --dist loadfile

lab: env  ## open the notebooks in JupyterLab
	$(BIN)/jupyter lab --ServerApp.root_dir=. notebooks/00_overview.ipynb

notebooks: env  ## run all notebooks and refresh what is committed: their outputs, the report, README's table
	$(RUN) run
	$(RUN) notebooks
	$(RUN) report --readme

report: env  ## print published and reproduced side by side
	$(RUN) report --readme

# Extras live beside .venv, not in it: the key of a run holds the installed versions, and these change no figure.
PIP_TARGET = $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps
SITE := build/site-packages
EXTRA := build/extra-packages

site: env  ## build the static site from the committed notebooks into build/site (needs npm once, for MathJax)
	@cmp -s requirements-site.lock $(SITE)/requirements.lock || { \
	  echo "installing Sphinx from requirements-site.lock" && rm -rf $(SITE) \
	  && $(PIP_TARGET) --target $(SITE) -r requirements-site.lock \
	  && cp requirements-site.lock $(SITE)/requirements.lock; }
	PYTHONPATH=$(SITE) $(BIN)/python site/build.py
	@echo "built: open it with $(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site"

extras: env  ## install the locked extras (site, spark, dask) into build/extra-packages, for PYTHONPATH
	@cmp -s requirements-extra.lock $(EXTRA)/requirements.lock || { \
	  echo "installing requirements-extra.lock" && rm -rf $(EXTRA) \
	  && $(PIP_TARGET) --target $(EXTRA) -r requirements-extra.lock \
	  && cp requirements-extra.lock $(EXTRA)/requirements.lock; }

audit: env  ## draws against every privacy claim, and every closed form against many digits (build/audit)
	$(BIN)/python -m benchmarks.audit
	$(BIN)/python -m benchmarks.precision

fuzz: env  ## 10,000 cases of every public function; notebooks at the ends of their parameters (some hours)
	$(BIN)/python -m pytest tests/fuzz tests/fuzz/notebook_ends.py --hypothesis-profile=long -n auto --dist worksteal

faults: env  ## kill, fill the disk, damage data, on purpose, with runs of full size (half an hour)
	$(BIN)/python tests/faults/faults.py --full

bench: env  ## measure against what people use today, side by side; writes benchmarks/results
	$(BIN)/python benchmarks/compare.py --write

lock: env  ## make the locks and environment.yml anew from pyproject.toml (needs uv)
	$(BIN)/python tools/lock.py

clean:  ## remove runs and caches (not .venv, not figures)
	rm -rf build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find dpsim tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
