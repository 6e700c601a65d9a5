"""The command line: run, report, list, data, release, plan."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from dpsim import __version__, checks, files, paths, runner

Output = tuple[Iterable[str], int]
"""Lines that a command prints when it has done everything, and its exit code."""


class Commands(click.Group):
    """A group of commands. It reports in one line, without a traceback, an error that the user can correct, and ends
    with exit code 2."""

    def invoke(self, ctx: click.Context) -> None:
        """Run a command and report its error as a message. Characters that the terminal cannot show are replaced."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        done = ""
        try:
            lines, code = super().invoke(ctx)
            text = "".join(f"{line}\n" for line in lines)
            done = f"{ctx.invoked_subcommand} has ended, and its files are written if it has any, but not its output: "
            click.echo(text, nl=False)
        except BrokenPipeError:
            raise
        except (ValueError, OSError, ImportError) as error:
            click.echo(f"dpsim: {done}{error}", err=True)
            if done:  # otherwise Python writes the rest again when it ends, with the exit code 120
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 2
        ctx.exit(code)


class WithParameters(click.Command):
    """A command whose `-p` accepts both NAME VALUE and NAME=VALUE."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split each NAME=VALUE into two words, and parse the words. No name contains an equals sign."""
        words: list[str] = []
        for word in args:
            words += (
                word.split("=", 1)
                if words[-1:] in (["-p"], ["--parameter"])
                else [word]
            )
        return super().parse_args(ctx, words)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    __version__, message="dpsim %(version)s (the distribution dpsim-compendium)"
)
def main() -> None:
    """A living compendium of private Markov chains. Run its notebooks, and compare their results with the papers."""


@main.command(cls=WithParameters)
@click.argument("names", nargs=-1)
@click.option(
    "-p",
    "--parameter",
    nargs=2,
    multiple=True,
    metavar="NAME VALUE",
    help="Change a parameter (or NAME=VALUE); repeatable.",
)
@click.option(
    "-j",
    "--jobs",
    type=int,
    help="How many notebooks run at a time (default: one per core).",
)
@click.option("--force", is_flag=True, help="Run even if nothing has changed.")
@click.option("--output", metavar="DIR", help="Write the results into DIR/<notebook>.")
@click.option(
    "--grid",
    multiple=True,
    metavar="NAME=VALUES",
    help="Run a sweep (seed=0:100, zones=30,40,50, or lists k=1,2/3,4); repeatable.",
)
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Run a sweep on the workers of a Dask scheduler (needs `make extras`).",
)
def run(
    names: tuple[str, ...],
    parameter: tuple[tuple[str, str], ...],
    jobs: int | None,
    force: bool,
    output: str | None,
    grid: tuple[str, ...],
    dask: str | None,
) -> Output:
    """Run notebooks and write their figures. Without NAMES, run all notebooks.

    Results with default parameters go to figures/<notebook>, and those with any -p to build/runs/<notebook>/<key>. A
    notebook is not run again if its outputs exist and its sources, data, parameters and environment are unchanged.
    """
    if (grid or dask) and (len(names) != 1 or not grid or output is not None or force):
        raise ValueError(
            "a sweep takes one notebook and --grid, with -p, -j and --dask: no --output, no --force"
        )
    files.need_locks(
        "running notebooks with dpsim",
        "JupyterLab and papermill run them on this system, too",
    )
    if jobs is not None:
        checks.integer("jobs", jobs, 1, runner.runs.MOST_JOBS)
    runs = (
        _planned_sweep(names[0], grid, parameter)
        if grid
        else runner.plan(names, parameter, output)
    )
    if not runs:
        raise ValueError(f"there are no notebooks in {paths.notebooks()}")
    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # stops the runs as Ctrl-C does
    tell = Progress(len(runs)).hear
    try:
        runner.run_on_cluster(runs, dask, tell) if dask else runner.run(
            runs, jobs, force=force, tell=tell
        )
    except KeyboardInterrupt:
        for sign in (signal.SIGINT, signal.SIGTERM):
            signal.signal(sign, signal.SIG_IGN)  # the rest takes no time
        for one in runs:
            if one.status not in ("done", "unchanged", "failed"):
                one.status, one.message = "interrupted", ""
                tell(one)
    counts = Counter(one.status for one in runs)
    lines = _outcomes(runs)
    if grid:
        lines = [
            ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        ]
        lines.append(f"results: {os.path.relpath(runner.gather(runs))}")
    if counts["interrupted"]:
        lines.append("interrupted: run the same command again to continue")
    return lines, 130 if counts["interrupted"] else 1 if counts["failed"] else 0


def _planned_sweep(
    name: str, grid: tuple[str, ...], fixed: tuple[tuple[str, str], ...]
) -> list[runner.Run]:
    """Return the runs of a sweep, after telling how many there are. While they are planned, show how far this is."""
    live = _is_live()

    def tell(planned: int, points: int) -> None:
        if live and planned % 10 == 0:
            click.echo(
                f"\r\033[Kplanned {planned} of {points} points", err=True, nl=False
            )
        elif planned % 1000 == 0:
            click.echo(f"planned {planned} of {points} points", err=True)

    try:
        runs = runner.plan_grid(name, grid, fixed, tell)
    finally:
        click.echo("\r\033[K" * live, err=True, nl=False)
    click.echo(
        f"{name}: a sweep of {len(runs)} runs (those that are current are not run again)",
        err=True,
    )
    return runs


def _is_live() -> bool:
    """Return whether standard error is a terminal on which a line can change."""
    return sys.stderr.isatty() and not os.environ.get("CI")


@main.command()
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Judge the run in DIR.",
)
def report(results: Path | None) -> Output:
    """Print each published number beside the reproduced one. The exit code is 1 if a row is not in order.

    DIR is the folder of a run, such as build/runs/<notebook>/<key>, or holds a
    folder for each notebook. A run with other parameters is judged by what it
    recorded: what was verified here applies to default runs only.
    """
    from dpsim import ledger  # it imports pandas, which a run does not need

    table = ledger.report(results)
    shown = table[
        ["published", "limit", "reproduced", "standard_error", "shown"]
    ].rename(columns={"shown": "verdict"})
    bad = table.index[~table["ok"]]
    lines = [
        shown.to_string(float_format="{:.5g}".format, na_rep="", index_names=False)
    ]
    lines.append(
        f"{len(table)} rows, {len(bad)} not in order"
        + (f": {', '.join(bad)}" if len(bad) else "")
    )
    missing = [] if results else _missing_pictures()
    lines += [
        f"{os.path.relpath(path)} is missing: `dpsim run {path.parent.name}` draws it"
        for path in missing
    ]
    if results is None:
        claims = ledger.markdown(table, "../notebooks")
        text = "\n".join([OPENING, ledger.LEGEND, RULES, "## The claims\n", claims])
        files.write_text(paths.figures() / "REPORT.md", text)
    elif (used := ledger.parameters(results)) is not None:
        told = ", ".join(
            f"{name} = {json.dumps(value)}" for name, value in used.items()
        )
        lines.append(
            f"run with {told}; all other parameters as usual"
            if told
            else "run with default parameters"
        )
    return lines, int(len(bad) + len(missing) > 0)


OPENING = """\
# What the papers report, and what we find

![A dot for each claim of the papers: our number divided by the number that the paper \
reports, or by the limit that it states.](00_overview/fig4_numbers.png)

*All claims at once.* Each dot is our number divided by the number that the paper \
reports, or by the limit that it states. The claims that are contradicted and the slips \
are named.
"""
"""The beginning of REPORT.md."""

RULES = "[data/LEDGER.md](../data/LEDGER.md) says how a claim is judged.\n"
"""Where REPORT.md leads somebody who doubts a verdict or adds a claim."""


def _missing_pictures() -> list[Path]:
    """Return the pictures that the notebooks save but that are missing from the committed figures."""
    found = []
    for name in paths.notebook_names():
        code = "\n".join(
            cell["source"]
            for cell in runner.parameters.load(name)["cells"]
            if cell["cell_type"] == "code"
        )
        saved = re.findall(r'figures\.save(?:_moving)?\([^"]*"(\w+)"', code)
        found += [paths.figures() / name / f"{stem}.png" for stem in saved]
    return [path for path in found if not path.is_file()]


@main.command("list")
def list_() -> Output:
    """Show the notebooks, and the type, default and meaning of each parameter."""
    lines = []
    for name in paths.notebook_names():
        known = runner.notebook_parameters(name).values()
        lines += [
            name,
            *(
                f"    {one.name}: {one.type} = {one.default!r}  {one.help}"
                for one in known
            ),
        ]
    return lines, 0


@main.group(invoke_without_command=True)
@click.pass_context
def data(ctx: click.Context) -> Output:
    """Show the source, licence and checksum of each data set. The exit code is 1 if a file is damaged."""
    if ctx.invoked_subcommand:
        return [], 0
    from dpsim.datasets import tables

    table = tables.load_sources()
    form = "{file}\n    {contents}\n    source: {source}\n    licence: {licence}\n    sha256 {sha256}\n    {status}"
    return [form.format(**row) for row in table.to_dict("records")], int(
        (table["status"] != "intact").any()
    )


@data.command()
def fetch() -> Output:
    """Download the official taxi month (about 59 MB), so that `-p trips official` works."""
    from dpsim.datasets import fetch as taxi

    month = taxi.fetch_taxi_month(progress=sys.stderr.isatty())
    return [
        f"{month.file}\n    {month.rows:,} rows, {month.manhattan:,} within Manhattan's 69 zones, as expected",
        f"    sha256 {month.sha256}",
        f"    git blob id {'as' if month.blob_matches else 'NOT as'} reported for it ({taxi.GIT_BLOB})",
        f"{month.counts}\n    {month.kept:,} trips between the 63 zones, counted; source: {taxi.SOURCE}",
    ], 0


@main.command()
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--origin", metavar="COL", help="Column of the state that an event leaves."
)
@click.option(
    "--destination", metavar="COL", help="Column of the state that it enters."
)
@click.option(
    "--count", metavar="COL", help="Column with the number of events of a row."
)
@click.option(
    "--trajectory", metavar="U,T,P", help="For visits: columns of user, time and place."
)
@click.option(
    "--time-format",
    metavar="FORM",
    help="iso, seconds, milliseconds, or like %d.%m.%Y %H:%M.",
)
@click.option(
    "--max-gap", metavar="TIME", help="Longest time between two visits (30min, 2h)."
)
@click.option(
    "--categories",
    metavar="FILE",
    help="The states, one in each line, known without the data.",
)
@click.option(
    "--graph",
    metavar="FILE",
    help="Table of the possible pairs, in place of the states.",
)
@click.option(
    "--pairs",
    metavar="KIND",
    help="With states: all (default) or private (frequent) pairs.",
)
@click.option(
    "--unit",
    metavar="COL",
    help="Column of the persons, to protect persons, not events.",
)
@click.option(
    "--events",
    type=int,
    metavar="M",
    help="Largest number of events counted for a person.",
)
@click.option(
    "--epsilon",
    type=float,
    metavar="E",
    help="Epsilon of the release, above 0 (1 is a common choice).",
)
@click.option(
    "--delta",
    default=0.0,
    metavar="D",
    help="Delta of the release, for private pairs (say 1e-6).",
)
@click.option(
    "--output",
    metavar="DIR",
    help="New folder to publish; DIR_OWNER_ONLY is for you only.",
)
@click.option(
    "--budget", metavar="FILE", help="Record of what these data have spent so far."
)
@click.option(
    "--limit", metavar="E,D", help="What all releases may spend (for a new budget)."
)
@click.option(
    "--check", is_flag=True, help="Only tell you what would be counted and left out."
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    help="Simulate with a seed; never publish the result.",
)
def release(files: tuple[str, ...], **options: Any) -> Output:
    """Make a private Markov chain of a table of events, counts or visits.

    FILES are csv or tsv files (also .gz), Parquet files, or a folder of them.
    Without states or a graph, frequent pairs are chosen privately. Standard
    output may be published. Standard error is for you only, and so is the
    fact that a table is refused. In Python, call dpsim.release.privatize.
    """
    from dpsim.release.command import release_lines

    return release_lines(
        list(files), lambda line: click.echo(line, err=True), **options
    ), 0


@main.command()
@click.option("--states", required=True, type=int, help="How many states there are.")
@click.option(
    "--events", required=True, type=int, help="A public guess of the number of events."
)
@click.option(
    "--persons",
    type=int,
    help="A public guess of the number of persons (cars, sessions).",
)
@click.option(
    "--limits",
    metavar="M,M,...",
    help="Largest numbers of events of a person (default: protect single events).",
)
@click.option(
    "--epsilon",
    default="0.1,0.3,1,3",
    show_default=True,
    metavar="E,E,...",
    help="Values of epsilon.",
)
@click.option(
    "--delta", default=0.0, show_default=True, help="Delta, at least 0 and below 1."
)
@click.option(
    "--pairs", type=int, help="How many pairs a declared graph allows (default: all)."
)
def plan(**options: Any) -> Output:
    """Show the noise and the error that a release would have. Only public numbers are used, and nothing is spent."""
    from dpsim.release.command import plan_lines

    return plan_lines(**options), 0


class Progress:
    """Shows the progress of the runs: one line that changes on a terminal, and a line for each wait and each end
    elsewhere and in CI."""

    def __init__(self, total: int) -> None:
        self.running: dict[Path, str] = {}
        self.ended, self.total = 0, total
        self.live = _is_live()

    def hear(self, run: runner.Run) -> None:
        """Show the progress of a run, or how it ended."""
        what = " ".join(
            [
                run.name,
                *(
                    f"{parameter}={value}"
                    for parameter, value in run.parameters.items()
                ),
            ]
        )
        self.running[run.output] = f"{what} cell {run.cell} of {run.cells}"
        ended = ""
        if run.status != "running":
            del self.running[run.output]
            self.ended += run.status != "waiting"
            cost = f", {run.seconds:.1f} s" if run.seconds else ""
            text = (
                run.message
                if run.status == "waiting"
                else f"{run.status}{cost} ({self.ended} of {self.total})"
            )
            ended = f"{what}: {text}\n"
        if self.live:
            line = ", ".join(self.running.values())[
                : shutil.get_terminal_size().columns - 1
            ]
            ended = f"\r\033[K{ended}{line}"  # replaces the previous line
        click.echo(ended, err=True, nl=False)


def _outcomes(runs: list[runner.Run]) -> list[str]:
    """Return a line for each notebook that says how it ended."""
    width = max(len(one.name) for one in runs)
    lines = []
    for one in runs:
        cost = (
            f"{one.seconds:6.1f} s wall {one.cpu_seconds:6.1f} s CPU {one.peak_mib:6.0f} MiB"
            if one.seconds
            else ""
        )
        where = one.message or os.path.relpath(one.output)
        lines.append(
            f"{one.name:<{width}}  {one.status:<11} {cost:<38} {where}".rstrip()
        )
    return lines
