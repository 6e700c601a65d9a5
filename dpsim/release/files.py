"""The files of a release, written whole or not at all, and read back.

What may be published lies in one folder; what is for the owner of the data alone in another, which only its owner can
open (mode 0700, files 0600). The first's files, their columns, types and order depend on the released counts and on
public choices alone.

Both are made before anything is spent, each inside a hidden folder of mode 0700 beside its place, and moved there when
they are whole. What a killed run leaves hidden, the next one with the same output removes.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from dpsim.private import SIMULATION
from dpsim.release import owner as owner_
from dpsim.release import report
from dpsim.release import support as supports
from dpsim.release.chain import PrivateChain
from dpsim.release.counts import Counts

STATEMENT, REPORT, OWNER = "statement.json", "report.html", "owner.json"
ENDS = ("origin", "destination")
LARGEST_CSV = 1_000_000  # rows of a table beyond which it is written as Parquet alone


def write_release(
    chain: PrivateChain,
    output: str | os.PathLike[str],
    counts: Counts | None = None,
    owner: str | os.PathLike[str] | None = None,
) -> list[Path]:
    """Write a release into a new or empty folder and return the paths of what may be published.

    output: gets counts, chain and states (each as Parquet and, up to a million rows, csv), statement.json and
    report.html. Of a simulation every file says so, the tables in a column `note`. Labels are written unchanged: a
    spreadsheet may take one such as "=A1" in a csv for a formula.

    counts: what went in. With them another new folder, `owner` (default: the first's name with "_OWNER_ONLY"), gets
    owner.json, which compares the release with the owner's own table and must not be published.
    """
    if counts is None:
        with _beside("output", target := Path(os.path.abspath(output)), 0o777) as whole:
            _write_public(chain, whole)
            os.replace(whole, target)
        return sorted(target.iterdir())
    with prepared(output, owner) as place:
        return place.write(chain, counts)


class Place(NamedTuple):
    """Where a release goes: the hidden folders that are there, and where they are moved."""

    public: Path
    private: Path
    output: Path
    owner: Path

    def write(self, chain: PrivateChain, counts: Counts) -> list[Path]:
        """Write a release and what the counts say of it, move both into place and return what is public."""
        _write_public(chain, self.public)
        _write_owner(owner_.compared(chain, counts), self.private)
        os.replace(self.public, self.output)
        os.replace(self.private, self.owner)
        return sorted(self.output.iterdir())


@contextmanager
def prepared(
    output: str | os.PathLike[str],
    owner: str | os.PathLike[str] | None = None,
    budget: str | os.PathLike[str] | None = None,
) -> Iterator[Place]:
    """Make the folders of a release, so that all that can be refused is refused before anything is spent.

    Within the block they can be written to; at its end nothing is left but what was moved into place. ValueError for
    what is no new or empty folder or cannot be made, for an owner's folder in the released one or round it, and for a
    budget file in either.
    """
    target = Path(os.path.abspath(output))
    private = Path(os.path.abspath(target.with_name(f"{target.name}_OWNER_ONLY") if owner is None else owner))
    inside, outside = Path(os.path.realpath(private)), Path(os.path.realpath(target))
    if inside == outside or outside in inside.parents or inside in outside.parents:
        raise ValueError(f"owner must be a folder outside the released one, got {os.fspath(private)!r}")
    if budget is not None and {inside, outside} & {(file := Path(os.path.realpath(budget))), *file.parents}:
        raise ValueError(f"budget must be a file outside the folders of the release, got {os.fspath(budget)!r}")
    with ExitStack() as stack:
        public = stack.enter_context(_beside("output", target, 0o777))
        hidden = stack.enter_context(_beside("owner", private, 0o700))
        yield Place(public, hidden, target, private)


@contextmanager
def _beside(name: str, target: Path, mode: int) -> Iterator[Path]:
    """Make a new folder, inside a hidden one beside the target that is held by a lock; ValueError where that fails."""
    new = [parent for parent in target.parents if not parent.exists()]
    partial, descriptor = target.with_name(f".{target.name}.partial"), None
    try:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            partial.mkdir(mode=0o700, exist_ok=True)
            descriptor = _held(partial)
            if os.path.lexists(target) and (target.is_symlink() or not target.is_dir() or any(target.iterdir())):
                raise ValueError(
                    f"{name} must be a new or empty folder, got {os.fspath(target)!r}: none is overwritten"
                )
            shutil.rmtree(whole := partial / "whole", ignore_errors=True)  # of a run that was killed
            whole.mkdir(mode=mode)
        except OSError as error:
            raise ValueError(f"{name}: {os.fspath(target)!r} cannot be made ({error.strerror})") from error
        yield whole
    finally:
        if descriptor is not None:
            shutil.rmtree(partial, ignore_errors=True)
            os.close(descriptor)
        for parent in new:
            with suppress(OSError):  # what was written is there
                parent.rmdir()


def _held(folder: Path) -> int:
    """Return the descriptor that holds a hidden folder's lock; OSError where a running release holds it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.fchmod(descriptor, 0o700)
        if os.path.samestat(os.fstat(descriptor), folder.stat()):
            return descriptor
        raise FileNotFoundError(errno.ENOENT, "another release has just been written there")
    except BaseException:
        os.close(descriptor)
        raise


def load_release(folder: str | os.PathLike[str]) -> PrivateChain:
    """Return a release from its folder (statement.json, states.parquet, counts.parquet); it equals the one written.

    >>> import tempfile
    >>> from dpsim import release
    >>> trips = pd.DataFrame({"origin": ["a", "b"], "destination": ["b", "a"], "trips": [500, 400]})
    >>> support = release.all_pairs(["a", "b"])
    >>> chain = release.release_chain(release.Counts(trips), epsilon=1.0, support=support, rng=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_release(chain, folder)
    ...     load_release(folder) == chain
    True
    """
    place = Path(folder)
    try:
        statement = json.loads((place / STATEMENT).read_text(encoding="utf-8"))
        states = pa.parquet.read_table(place / "states.parquet")
        counts = pa.parquet.read_table(place / "counts.parquet")
        labels = states["label"].to_pylist()
        index = pd.Index(labels)
        rows, columns = (index.get_indexer(counts[name].to_pandas()).astype(np.int64) for name in ENDS)
        noisy = counts["noisy_count"].to_numpy().astype(np.int64)
        pairs, kind = statement["pairs"], statement["support"]
    except (OSError, KeyError, TypeError, ValueError, RecursionError, pa.ArrowException) as error:
        raise ValueError(f"folder: {os.fspath(folder)!r} holds no release that can be read ({error})") from error
    if (rows < 0).any() or (columns < 0).any() or len(noisy) != pairs:
        raise ValueError(f"folder: the files of {os.fspath(folder)!r} do not belong together, or one was changed")
    support, order = supports.from_pairs(labels, rows, columns, kind)
    return PrivateChain(support, noisy[order], statement)


def tables(chain: PrivateChain) -> dict[str, pa.Table]:
    """Return the tables that are published, labels as integers where all are, else as text."""
    whole = bool(chain.labels) and all(isinstance(label, int) for label in chain.labels)
    kind = pa.int64() if whole else pa.string()
    named = pa.array(chain.labels if whole else [str(label) for label in chain.labels], kind)
    support = chain.support
    matrix = chain.estimate.matrix.tocoo()
    rows, columns = (np.asarray(place, dtype=np.int64) for place in matrix.coords)
    found = {
        "counts": {"origin": named.take(pa.array(support.rows)), "destination": named.take(pa.array(support.indices)),
                   "noisy_count": chain.noisy},
        "chain": {"origin": named.take(pa.array(rows)), "destination": named.take(pa.array(columns)),
                  "probability": matrix.data},
        "states": _states(chain, named),
    }  # fmt: skip
    return {name: _marked(pa.table(columns), chain) for name, columns in found.items()}


def _states(chain: PrivateChain, named: pa.Array) -> dict[str, Any]:
    """Return the columns of the table of states; the stationary ones are empty where there is no stationary law."""
    filled = np.isin(np.arange(len(chain.labels)), chain.estimate.empty)
    states: dict[str, Any] = {"label": named, "departures": chain.departures(), "filled": filled}
    try:
        states["stationary"] = chain.stationary().to_numpy()
    except ValueError:  # the released chain is reducible, or empty: seen by everybody
        states["stationary"] = pa.nulls(len(named), pa.float64())
    bars = report.stationary(chain)
    for end in ("low", "high"):
        states[f"stationary_{end}"] = pa.nulls(len(named), pa.float64()) if bars is None else bars[end].to_numpy()
    return states


def _marked(table: pa.Table, chain: PrivateChain) -> pa.Table:
    """Return a table that says of itself what it is: its status in the schema, and a column on simulations."""
    if chain.statement["simulation"]:
        note = pa.DictionaryArray.from_arrays(np.zeros(len(table), dtype=np.int8), [SIMULATION])
        table = table.append_column("note", note.cast(pa.string()))
    return table.replace_schema_metadata({"status": chain.statement["status"]})


def _write_public(chain: PrivateChain, folder: Path) -> None:
    """Write the tables as Parquet and, unless they are very large, as csv, the statement and the page."""
    for name, table in tables(chain).items():
        pa.parquet.write_table(table, folder / f"{name}.parquet")
        if len(table) <= LARGEST_CSV:
            pa.csv.write_csv(table, folder / f"{name}.csv")
    (folder / STATEMENT).write_text(json.dumps(chain.statement, indent=2) + "\n", encoding="utf-8")
    (folder / REPORT).write_text(report.page(chain), encoding="utf-8")


def _write_owner(facts: dict[str, Any], folder: Path) -> None:
    """Write the owner's file, readable by its owner alone from the first byte on."""
    file = folder / OWNER
    text = json.dumps({"FOR THE OWNER OF THE DATA ONLY": "not private: computed from the data"} | facts, indent=2)
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        stream.write(text + "\n")
