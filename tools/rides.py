"""`python -m tools.rides` writes data/rides: rides of invented travel cards, for the
example of a release that protects a person."""

from __future__ import annotations

import csv
import io
import itertools

import numpy as np

from dpsim import files, paths, streams

STOPS = (
    "Airport",
    "Bridge",
    "Castle",
    "Docks",
    "Gardens",
    "Library",
    "Market",
    "Station",
)
CARDS = 1500
LONGEST = 120
"""The largest number of rides of a card."""


def rides() -> str:
    """Return the table as csv: a row for each ride, with its card and both stops."""
    rng = streams.stream(1, "rides")
    weight = rng.lognormal(0, 0.7, (len(STOPS), len(STOPS)))
    np.fill_diagonal(weight, 0)
    step = weight / weight.sum(axis=1, keepdims=True)
    counts = np.minimum(1 + rng.geometric(1 / 11, CARDS), LONGEST)
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["card", "from", "to"])
    for card, count in enumerate(counts, 1):
        stop = int(rng.integers(len(STOPS)))
        visited = [stop]
        for _ in range(count):
            stop = int(rng.choice(len(STOPS), p=step[stop]))
            visited.append(stop)
        for before, after in itertools.pairwise(visited):
            table.writerow([card, STOPS[before], STOPS[after]])
    return text.getvalue()


def main() -> None:
    """Write the table and the list of its stops."""
    folder = paths.data() / "rides"
    files.write_text(folder / "rides.csv", rides())
    files.write_text(folder / "stops.txt", "".join(f"{stop}\n" for stop in STOPS))


if __name__ == "__main__":
    main()
