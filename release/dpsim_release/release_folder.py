"""Writes the files of a release, either all of them or none, and reads them back.

One folder contains the files that may be published. A second folder beside it is only
for the owner of the data; its mode is 0700, and the mode of the file in it is 0600. The
files in the first folder, and their columns, types and order, depend only on the
released counts and on public choices.

Both folders are made before anything is spent. They are written inside a hidden folder
of mode 0700 beside their final location, and they are moved there when they are
complete. If a run is killed, its hidden folder is removed by the next run with the same
output.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from dpsim import checks, files, released
from dpsim.private import SIMULATION
from dpsim.released import REPORT, STATEMENT, need, refuse
from dpsim_release import owner, report
from dpsim_release import support as supports
from dpsim_release.budget import path_text
from dpsim_release.chain import PrivateChain
from dpsim_release.discrete_laplace import LARGEST_EPSILON
from dpsim_release.labels import visible
from dpsim_release.statement import LAPLACE, RELEASED
from dpsim_release.table import Counts
from dpsim_release.unit import Unit

OWNER = "owner.json"
LARGEST_NOISY_COUNT = 2**54  # a count is at most 2^53, and noise is never this large
MOST_CHARACTERS = 1_000  # the largest length of a sentence in statement.json
MOST_ROWS_OF_CSV = 1_000_000  # a table with more rows is written only as Parquet


class Place(NamedTuple):
    """The hidden folders of a release, and the paths to which they are moved."""

    public: Path
    private: Path
    output: Path
    owner: Path

    def write(self, chain: PrivateChain, counts: Counts) -> None:
        """Write the release and the owner's folder, and move both to their final
        paths."""
        try:
            write_public(chain, self.public)
            facts = {
                "FOR THE OWNER OF THE DATA ONLY": "not private: computed from the data"
            }
            text = json.dumps(facts | owner.utility(chain, counts), indent=2)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            # with this mode, nobody but its owner can ever read the file
            descriptor = os.open(self.private / OWNER, flags, 0o600)
            with open(descriptor, "w") as stream:
                stream.write(text + "\n")
            os.replace(self.public, self.output)
            os.replace(self.private, self.owner)
        except OSError as error:
            raise ValueError(
                f"output: {error}: the release is not complete, and what it spent of a "
                "budget is spent"
            ) from error


@contextmanager
def prepare(
    output: str | os.PathLike[str], budget: str | os.PathLike[str] | None = None
) -> Iterator[Place]:
    """Make the folders of a release before anything is spent, and yield their `Place`.

    Otherwise, a folder that cannot be made would be noticed only after the loss had
    been recorded. When the block ends, everything that was not moved into place is
    removed.

    output: a new or empty folder whose parent exists. The owner's folder is made beside
    it, as output_OWNER_ONLY.

    Raises ValueError if a folder contains files or cannot be made, or if the budget
    file is in one of the folders.
    """
    target = Path(os.path.abspath(path_text("output", output, "a new folder")))
    if not target.name:
        raise ValueError(
            f"output must be the name of a new folder, got {os.fspath(output)!r:.80}"
        )
    place = target, target.with_name(f"{target.name}_OWNER_ONLY")
    # as long as the longer of the two names, so that both fit if this one does
    hidden = target.with_name(f".{target.name}.unfinished")
    if budget is not None:
        file = Path(os.path.realpath(budget))
        folders = {Path(os.path.realpath(folder)) for folder in place}
        if folders & {file, *file.parents}:
            raise ValueError(
                "budget must be a file outside the folders of the release, "
                f"got {os.fspath(budget)!r}"
            )
    with ExitStack() as at_the_end:
        try:
            hidden.mkdir(mode=0o700, exist_ok=True)
            lock = files.lock(hidden, os.O_RDONLY | os.O_DIRECTORY)
            at_the_end.callback(os.close, lock)
            # this is called first, while the folder is still locked
            at_the_end.callback(shutil.rmtree, hidden, ignore_errors=True)
            os.fchmod(lock, 0o700)
            for folder in place:
                if os.path.lexists(folder) and (
                    folder.is_symlink() or not folder.is_dir() or any(folder.iterdir())
                ):
                    raise ValueError(
                        f"output: {os.fspath(folder)!r} must be new or an empty folder"
                    )
            for whole, mode in (("public", 0o777), ("private", 0o700)):
                # a killed run may have left it
                shutil.rmtree(hidden / whole, ignore_errors=True)
                (hidden / whole).mkdir(mode=mode)
        except OSError as error:
            raise ValueError(
                f"output: {os.fspath(target)!r} cannot be made ({error.strerror})"
            ) from error
        yield Place(hidden / "public", hidden / "private", *place)


def load(folder: str | os.PathLike[str]) -> PrivateChain:
    """Return the release in a folder, which equals the release that was written.

    It is read from statement.json, states.parquet and counts.parquet. Raises ValueError
    if one of these files is missing or if they contradict each other.
    `dpsim.load_release` reads the chain without this package.

    >>> import tempfile
    >>> import dpsim_release
    >>> table = pd.DataFrame({"from": ["a", "b"] * 500, "to": ["b", "a"] * 500})
    >>> settings = {"origin": "from", "destination": "to", "categories": ["a", "b"]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     settings["output"] = f"{folder}/chain"
    ...     chain = dpsim_release.privatize(table, epsilon=1, rng=1, **settings)
    ...     load(f"{folder}/chain") == chain
    True
    """
    place = Path(folder)
    file = STATEMENT
    try:
        facts = files.read_json(released.ordinary(place / file))
        _check(facts)
        file = "states.parquet"
        labels = released.read_labels(place / file)
        file = "counts.parquet"
        least = -LARGEST_NOISY_COUNT
        if facts["threshold"] is not None:
            least = facts["threshold"]
        rows, columns, noisy = released.read_pairs(
            place / file,
            labels,
            "noisy_count",
            lambda part: checks.integers(
                "noisy_count", part, least, LARGEST_NOISY_COUNT
            ),
            facts["pairs"],
        )
        support, order = supports.from_pairs(
            labels.tolist(), rows, columns, facts["support"]
        )
        smallest = {supports.ALL_PAIRS: len(labels), supports.GRAPH: 1}
        incomplete = support.sizes < smallest.get(facts["support"], 0)
        refuse("each label must have its pairs", labels[incomplete])
    except (
        OSError,
        KeyError,
        TypeError,
        ValueError,
        RecursionError,
        pa.ArrowException,
    ) as error:
        raise ValueError(
            f"folder: {os.fspath(folder)!r} holds no release: {file}: {error}"
        ) from error
    return PrivateChain(support, noisy[order], facts)


def _check(facts: dict[str, Any]) -> None:
    """Raise ValueError if a fact has the wrong type or is out of range.

    The message names the field and its value.
    """
    types = {
        str: ("randomness", "estimate", "empty_rows"),
        bool: ("simulation", "moves"),
        dict: ("unit", "versions"),
    }
    for of, names in types.items():
        for name in names:
            need(
                isinstance(facts[name], of),
                f"{name} must be a {of.__name__}",
                facts[name],
            )
    for name in types[str]:
        text = facts[name]
        need(
            len(text) <= MOST_CHARACTERS and visible(text) == text,
            f"{name} must be one line of at most {MOST_CHARACTERS} visible characters",
            text,
        )
    checks.choice(
        "status", facts["status"], (SIMULATION if facts["simulation"] else RELEASED,)
    )
    checks.choice("mechanism", facts["mechanism"], (LAPLACE,))
    kind = checks.choice("support", facts["support"], supports.KINDS)
    unit = Unit(**facts["unit"])
    epsilon = checks.scalar(
        "epsilon", facts["epsilon"], 0.0, LARGEST_EPSILON, open_low=True
    )
    checks.scalar("scale", facts["scale"], unit.events / epsilon * (1.0 - 1e-9), 1e13)
    checks.scalar("delta", facts["delta"], 0.0, 1.0, open_high=True)
    if kind in (supports.PRIVATE_PAIRS, supports.PRIVATE_LABELS):
        checks.integer(
            "threshold", facts["threshold"], unit.events + 1, LARGEST_NOISY_COUNT
        )
    else:
        need(facts["threshold"] is None, "threshold must be null", facts["threshold"])


def write_public(chain: PrivateChain, folder: Path) -> None:
    """Write the tables counts, chain and states, the statement and the report.

    The tables are written as Parquet and, unless they are very large, as csv. Every
    file of a simulation says that it is one; the tables say so in a column `note`.
    Labels are written unchanged, so a spreadsheet may mistake a label such as "=A1" in
    a csv file for a formula.
    """
    bars = report.stationary(chain)
    frames = {
        "counts": chain.counts,
        "chain": chain.pairs,
        "states": _states(chain, bars),
    }
    for name, frame in frames.items():
        if chain.statement["simulation"]:
            frame["note"] = SIMULATION
        table = pa.Table.from_pandas(frame, preserve_index=False)
        table = table.replace_schema_metadata({"status": chain.statement["status"]})
        pa.parquet.write_table(table, folder / f"{name}.parquet")
        if len(table) <= MOST_ROWS_OF_CSV:
            pa.csv.write_csv(table, folder / f"{name}.csv")
    text = json.dumps(chain.statement, indent=2)
    (folder / STATEMENT).write_text(text + "\n", encoding="utf-8")
    (folder / REPORT).write_text(report.page(chain, bars), encoding="utf-8")


def _states(chain: PrivateChain, bars: pd.DataFrame | str) -> pd.DataFrame:
    """Return the table of states.

    If the stationary distribution is not unique, its column is left empty.
    """
    places = np.arange(len(chain.labels))
    states = pd.DataFrame(
        {
            "label": chain.named(places),
            "departures": chain.departures(),
            "filled": np.isin(places, chain.estimate.empty),
            "arrivals_only": np.isin(places, chain.estimate.arrivals_only),
            "stationary": np.nan,
            "stationary_low": np.nan,
            "stationary_high": np.nan,
        }
    )
    # whether the distribution is unique is public, like the released chain
    if chain.labels and len(chain.closed_classes[0]) == 1:
        states["stationary"] = chain.stationary().to_numpy()
    if not isinstance(bars, str):
        states["stationary_low"] = bars["low"].to_numpy()
        states["stationary_high"] = bars["high"].to_numpy()
    return states
