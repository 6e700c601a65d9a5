"""The files of a release, written whole or not at all, and read back.

What may be published lies in one folder; what is for the owner of the data alone in another beside it, which only its
owner can open (mode 0700, the file 0600). The first's files, their columns, types and order depend on the released
counts and on public choices alone.

Both are made before anything is spent, inside a hidden folder of mode 0700 beside their place, and moved there when
they are whole. What a killed run leaves hidden, the next one with the same output removes.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from dpsim import checks, files
from dpsim.private import SIMULATION
from dpsim.release import owner, report
from dpsim.release import support as supports
from dpsim.release.budget import parsed
from dpsim.release.chain import PrivateChain
from dpsim.release.counts import Counts
from dpsim.release.noise import LARGEST_EPSILON
from dpsim.release.statement import LAPLACE, RELEASED
from dpsim.release.unit import Unit

STATEMENT, REPORT, OWNER = "statement.json", "report.html", "owner.json"
ENDS = ("origin", "destination")
LARGEST = 2**54  # of a noisy count: the noise of one of 2^53 events is never as large as that
LARGEST_CSV = 1_000_000  # rows of a table beyond which it is written as Parquet alone


class Place(NamedTuple):
    """Where a release goes: the hidden folders that are there, and where they are moved."""

    public: Path
    private: Path
    output: Path
    owner: Path

    def write(self, chain: PrivateChain, counts: Counts) -> None:
        """Write a release and what the counts say of it, and move both into place."""
        try:
            write_public(chain, self.public)
            facts = {"FOR THE OWNER OF THE DATA ONLY": "not private: computed from the data"}
            text = json.dumps(facts | owner.compared(chain, counts), indent=2)
            with open(os.open(self.private / OWNER, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
                stream.write(text + "\n")  # readable by its owner alone from the first byte on
            os.replace(self.public, self.output)
            os.replace(self.private, self.owner)
        except OSError as error:
            raise ValueError(f"output: {error}: it is not whole, and what it spent of a budget is spent") from error


@contextmanager
def prepared(output: str | os.PathLike[str], budget: str | os.PathLike[str] | None = None) -> Iterator[Place]:
    """Make the folders of a release, so that all that can be refused is refused before anything is spent.

    output: a new or empty folder, in one that is there; what is for the owner goes beside it, as output_OWNER_ONLY.
    Within the block both can be written to; at its end nothing is left but what was moved into place. ValueError for
    what is there already or cannot be made, and for a budget file in either.
    """
    target = Path(os.path.abspath(output))
    place = target, target.with_name(f"{target.name}_OWNER_ONLY")
    hidden = target.with_name(f".{target.name}.unfinished")  # a name that is as long as the longer one's
    file = Path(os.path.realpath(budget or os.curdir))
    if {Path(os.path.realpath(folder)) for folder in place} & {file, *file.parents} and budget is not None:
        raise ValueError(f"budget must be a file outside the folders of the release, got {os.fspath(budget)!r}")
    lock = None
    try:
        try:
            hidden.mkdir(mode=0o700, exist_ok=True)
            lock = files.lock(hidden, os.O_RDONLY | os.O_DIRECTORY)
            os.fchmod(lock, 0o700)
            for folder in place:
                if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir() or any(folder.iterdir())):
                    raise ValueError(f"output: {os.fspath(folder)!r} must be new or an empty folder")
            for whole, mode in (("public", 0o777), ("private", 0o700)):
                shutil.rmtree(hidden / whole, ignore_errors=True)  # of a run that was killed
                (hidden / whole).mkdir(mode=mode)
        except OSError as error:
            raise ValueError(f"output: {os.fspath(target)!r} cannot be made ({error.strerror})") from error
        yield Place(hidden / "public", hidden / "private", *place)
    finally:
        if lock is not None:
            shutil.rmtree(hidden, ignore_errors=True)
            os.close(lock)


def load_release(folder: str | os.PathLike[str]) -> PrivateChain:
    """Return a release from its folder (statement.json, states.parquet, counts.parquet); it equals the one written.

    >>> import tempfile
    >>> from dpsim import release
    >>> table = pd.DataFrame({"from": ["a", "b"] * 500, "to": ["b", "a"] * 500})
    >>> settings = {"origin": "from", "destination": "to", "categories": ["a", "b"], "epsilon": 1.0, "rng": 1}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     chain = release.privatize(table, output=f"{folder}/chain", **settings)
    ...     load_release(f"{folder}/chain") == chain
    True
    """
    place, file = Path(folder), STATEMENT
    try:
        facts = parsed(place / file)
        _check(facts)
        file = "states.parquet"
        labels = pd.Index(_columns(place / file, ["label"])["label"])
        _refuse("label must be distinct", labels[labels.duplicated()])
        file = "counts.parquet"
        counts = _columns(place / file, [*ENDS, "noisy_count"])
        least = -LARGEST if facts["threshold"] is None else facts["threshold"]
        noisy = checks.integers("noisy_count", counts["noisy_count"], least, LARGEST)
        rows, columns = (labels.get_indexer(counts[name]).astype(np.int64) for name in ENDS)
        _refuse("origin and destination must be labels of states.parquet", counts.values[(rows < 0) | (columns < 0)])
        _refuse("each pair must be there once", counts.values[counts.duplicated(list(ENDS))])
        support, order = supports.from_pairs(labels.tolist(), rows, columns, facts["support"])
        pairs = {supports.ALL_PAIRS: len(labels), supports.GRAPH: 1}.get(facts["support"], 0)
        _refuse("each label must have its pairs", labels[support.sizes < pairs])
        checks.integer("pairs in statement.json", facts["pairs"], noisy.size, noisy.size)
    except (OSError, KeyError, TypeError, ValueError, RecursionError, pa.ArrowException) as error:
        raise ValueError(f"folder: {os.fspath(folder)!r} holds no release: {file}: {error}") from error
    return PrivateChain(support, noisy[order], facts)


def _check(facts: dict[str, Any]) -> None:
    """Raise ValueError, with a field and its value, where a fact of a release is not of its type or in its range."""
    types = {str: ("randomness", "estimate", "empty_rows"), bool: ("simulation", "moves"), dict: ("unit", "versions")}
    for of, name in ((of, name) for of, names in types.items() for name in names):
        _refuse(f"{name} must be a {of.__name__}", [facts[name]] * (not isinstance(facts[name], of)))
    checks.choice("status", facts["status"], (SIMULATION if facts["simulation"] else RELEASED,))
    checks.choice("mechanism", facts["mechanism"], (LAPLACE,))
    kind, unit = checks.choice("support", facts["support"], supports.KINDS), Unit(**facts["unit"])
    epsilon = checks.scalar("epsilon", facts["epsilon"], 0.0, LARGEST_EPSILON, open_low=True)
    checks.scalar("scale", facts["scale"], unit.events / epsilon * (1.0 - 1e-9), 1e13)
    checks.scalar("delta", facts["delta"], 0.0, 1.0, open_high=True)
    if kind in (supports.PRIVATE_PAIRS, supports.PRIVATE_LABELS):
        checks.integer("threshold", facts["threshold"], unit.events + 1, LARGEST)
    else:
        _refuse("threshold must be null", [facts["threshold"]] * (facts["threshold"] is not None))


def _refuse(rule: str, found: Any) -> None:
    """Raise ValueError where something breaks a rule, with the first that does."""
    if len(found):
        raise ValueError(f"{rule}, got {next(iter(found))!r:.80}")


def _columns(file: Path, names: list[str]) -> pd.DataFrame:
    """Return columns of a table, of whole numbers or of text, without gaps (ValueError)."""
    table = pa.parquet.read_table(file, columns=names)
    for name, kind, values in zip(table.column_names, table.schema.types, table.columns):
        known = pa.types.is_int64(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)
        _refuse(f"{name} must be int64 or text in every row", [str(kind)] * (not known or values.null_count > 0))
    return table.to_pandas()


def write_public(chain: PrivateChain, folder: Path) -> None:
    """Write counts, chain and states (as Parquet and, unless they are very large, csv), the statement and the page.

    Of a simulation every file says so, the tables in a column `note`. Labels are written unchanged: a spreadsheet may
    take one such as "=A1" in a csv for a formula.
    """
    bars = report.stationary(chain)
    for name, frame in (("counts", chain.counts), ("chain", chain.pairs), ("states", _states(chain, bars))):
        marked = frame.assign(note=SIMULATION) if chain.statement["simulation"] else frame
        table = pa.Table.from_pandas(marked, preserve_index=False)
        table = table.replace_schema_metadata({"status": chain.statement["status"]})
        pa.parquet.write_table(table, folder / f"{name}.parquet")
        if len(table) <= LARGEST_CSV:
            pa.csv.write_csv(table, folder / f"{name}.csv")
    (folder / STATEMENT).write_text(json.dumps(chain.statement, indent=2) + "\n", encoding="utf-8")
    (folder / REPORT).write_text(report.page(chain, bars), encoding="utf-8")


def _states(chain: PrivateChain, bars: pd.DataFrame | None) -> pd.DataFrame:
    """Return the table of states; the stationary columns are empty where there is no stationary distribution."""
    places = np.arange(len(chain.labels))
    filled = np.isin(places, chain.estimate.empty)
    states = pd.DataFrame({"label": chain.named(places), "departures": chain.departures(), "filled": filled})
    unique = bool(chain.labels) and len(chain.closed_classes[0]) == 1  # seen by everybody
    states["stationary"] = chain.stationary().to_numpy() if unique else np.nan
    for end in ("low", "high"):
        states[f"stationary_{end}"] = np.nan if bars is None else bars[end].to_numpy()
    return states
