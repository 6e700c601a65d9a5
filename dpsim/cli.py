"""The command line: run, report, list, data, release, plan, diff."""

from __future__ import annotations

import io
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from dpsim import files, paths, runner

Said = tuple[Iterable[str], int]
"""Lines that a command prints when it has done everything, and its exit code."""


class Commands(click.Group):
    """A group whose refusals are one line, without a traceback: exit code 2 for what the user can mend."""

    def invoke(self, ctx: click.Context) -> None:
        """Run a command; what it refuses becomes a message, in whatever letters the terminal has."""
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
            if done:  # else Python tries to write the rest once more when it ends, and its exit code is 120
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 2
        ctx.exit(code)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """A living compendium of private Markov chains: run the notebooks, compare with what the papers print."""


@main.command()
@click.argument("names", nargs=-1)
@click.option("-p", "--parameter", nargs=2, multiple=True, metavar="NAME VALUE", help="Another value; repeatable.")
@click.option("-j", "--jobs", type=int, help="Notebooks at a time (default: the cores).")
@click.option("--force", is_flag=True, help="Run although nothing has changed.")
@click.option("--output", metavar="DIR", help="Write to DIR/<notebook> instead.")
@click.option("--grid", multiple=True, metavar="NAME=VALUES", help="A sweep: seed=0:100, zones=30,40,50; repeatable.")
@click.option("--dask", metavar="ADDRESS", help="Sweep on a Dask scheduler's workers (`make extras`).")
def run(
    names: tuple[str, ...],
    parameter: tuple[tuple[str, str], ...],
    jobs: int | None,
    force: bool,
    output: str | None,
    grid: tuple[str, ...],
    dask: str | None,
) -> Said:
    """Execute notebooks (all when none is named) and write their figures.

    With default parameters into figures/<notebook>; with any -p into build/runs/<notebook>/<key>. A notebook whose
    sources, data, parameters and environment have not changed, and whose outputs are all there, is not run again.
    """
    if (grid or dask) and (len(names) != 1 or not grid or output is not None or force):
        raise ValueError("a sweep takes one notebook and --grid, with -p, -j and --dask: no --output, no --force")
    runs = runner.plan_grid(names[0], grid, parameter) if grid else runner.plan(names, parameter, output)
    if not runs:
        raise ValueError(f"there are no notebooks in {paths.notebooks()}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    tell = Progress(len(runs)).hear
    try:
        runner.run_on_cluster(runs, dask, tell) if dask else runner.run(runs, jobs, force=force, tell=tell)
    except KeyboardInterrupt:
        for sign in (signal.SIGINT, signal.SIGTERM):
            signal.signal(sign, signal.SIG_IGN)  # nothing is left that takes long
        for one in runs:
            if one.status not in ("done", "unchanged", "failed"):
                one.status, one.message = "interrupted", ""
                tell(one)
    counts = Counter(one.status for one in runs)
    lines = _outcomes(runs)
    if grid:
        lines = [", ".join(f"{count} {status}" for status, count in sorted(counts.items()))]
        lines.append(f"results: {os.path.relpath(runner.gather(runs))}")
    if counts["interrupted"]:
        lines.append("interrupted: run the same command again to go on with what is missing")
    return lines, 130 if counts["interrupted"] else 1 if counts["failed"] else 0


@main.command()
@click.option("--results", type=click.Path(path_type=Path), help="Folder of <notebook>/results.json to judge instead.")
def report(results: Path | None) -> Said:
    """Print every published number beside the reproduced one; exit 1 when a row is not in order."""
    from dpsim import ledger  # with pandas, which a run does without

    table = ledger.report(results)
    shown = table[["published", "reproduced", "standard_error", "verdict"]]
    bad = table.index[~table["ok"]]
    lines = [shown.to_string(float_format="{:.5g}".format, na_rep="", index_names=False)]
    lines.append(f"{len(table)} rows, {len(bad)} not in order" + (f": {', '.join(bad)}" if len(bad) else ""))
    if results is None:
        text = f"# Published and reproduced\n\n{ledger.LEGEND}\n{ledger.markdown(table, '../notebooks')}"
        files.write_text(paths.figures() / "REPORT.md", text)
    return lines, int(len(bad) > 0)


@main.command("list")
def list_() -> Said:
    """Show the notebooks with their parameters, types, defaults and help."""
    lines = []
    for name in paths.notebook_names():
        known = runner.notebook_parameters(name).values()
        lines += [name, *(f"    {one.name}: {one.type} = {one.default!r}  {one.help}" for one in known)]
    return lines, 0


@main.group(invoke_without_command=True)
@click.pass_context
def data(ctx: click.Context) -> Said:
    """Show each data set with its source, licence and checksum; exit 1 when a file is damaged."""
    if ctx.invoked_subcommand:
        return [], 0
    from dpsim import datasets

    table = datasets.load_sources()
    form = "{file}\n    {contents}\n    source: {source}\n    licence: {licence}\n    sha256 {sha256}\n    {status}"
    return [form.format(**row) for row in table.to_dict("records")], int((table["status"] != "intact").any())


@data.command()
def fetch() -> Said:
    """Download the official taxi month (about 59 MB), verify and count it: `-p trips official` works afterwards."""
    from dpsim import datasets
    from dpsim.datasets import fetch as taxi

    month = datasets.fetch_taxi_month(progress=sys.stderr.isatty())
    return [
        f"{month.file}\n    {month.rows:,} rows, {month.manhattan:,} within Manhattan's 69 zones, as expected",
        f"    sha256 {month.sha256}",
        f"    git blob id {'as' if month.blob_matches else 'NOT as'} reported for it ({taxi.GIT_BLOB})",
        f"{month.counts}\n    {month.kept:,} trips between the 63 zones, counted; source: {taxi.SOURCE}",
    ], 0


@main.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--origin", metavar="COL", help="Column of the state that an event leaves.")
@click.option("--destination", metavar="COL", help="Column of the state that it enters.")
@click.option("--count", metavar="COL", help="Column of how many events a row stands for.")
@click.option("--trajectory", metavar="U,T,P", help="Instead, of visits: columns of user, time, place.")
@click.option("--time-format", metavar="FORM", help="iso, seconds, milliseconds, or like %d.%m.%Y %H:%M.")
@click.option("--max-gap", metavar="TIME", help="Visits further apart make no event (30min, 2h).")
@click.option("--categories", metavar="FILE", help="The states, a line each, known without the data.")
@click.option("--graph", metavar="FILE", help="Or the possible pairs: a table origin, destination.")
@click.option("--pairs", metavar="KIND", help="With states: all (default), or private (frequent ones).")
@click.option("--unit", metavar="COL", help="Column of the person to protect; else single events.")
@click.option("--events", type=int, metavar="M", help="How many events of a person are counted, at most.")
@click.option("--epsilon", type=float, metavar="E", help="Privacy loss, above 0; 1 is a common choice.")
@click.option("--delta", default=0.0, metavar="D", help="Slack; only pairs chosen privately need it (1e-6).")
@click.option("--output", metavar="DIR", help="New folder of the release; yours alone: DIR_OWNER_ONLY.")
@click.option("--budget", metavar="FILE", help="Record of what these data have spent so far.")
@click.option("--limit", metavar="E,D", help="What they may spend in all; makes a new budget.")
@click.option("--check", is_flag=True, help="Only tell you what would be counted, and what not.")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="A simulation, which must not be published.")
def release(files: tuple[str, ...], **options: Any) -> Said:
    """Make a private Markov chain of a table of events, counts or visits.

    FILES are csv, tsv (also .gz) or Parquet, or a folder. Without states or a
    graph, frequent pairs are chosen privately. Standard output may be
    published; standard error, and whether a table is refused, is for you.
    Python: dpsim.release.privatize.
    """
    from dpsim import release as release_

    return release_.run(list(files), lambda line: click.echo(line, err=True), **options), 0


@main.command()
@click.option("--states", required=True, type=int, help="How many states there are.")
@click.option("--events", required=True, type=int, help="About how many events there are: a public guess.")
@click.option("--persons", type=int, help="About how many persons (cars, sessions) they belong to.")
@click.option("--limits", metavar="M,M,...", help="Events counted of a person (default: single events are protected).")
@click.option("--epsilon", default="0.1,0.3,1,3", show_default=True, metavar="E,E,...", help="Privacy losses.")
@click.option("--delta", default=0.0, show_default=True, help="Slack on top of the factor e^epsilon, in [0, 1).")
@click.option("--pairs", type=int, help="How many pairs a declared graph allows (default: all).")
def plan(**options: Any) -> Said:
    """Show what noise and error a release would have, from public numbers, before anything is spent."""
    from dpsim import release as release_

    return release_.plan_lines(**options), 0


@main.command()
@click.argument("run_a")
@click.argument("run_b")
def diff(run_a: str, run_b: str) -> Said:
    """Compare the numbers of two runs: folders, notebooks' names, or <notebook>/<key> of build/runs."""
    return [runner.describe(run_a, run_b)], 0


class Progress:
    """On a terminal one line of what runs; elsewhere and in CI a line for each wait and end."""

    def __init__(self, total: int) -> None:
        self.running: dict[Path, str] = {}
        self.ended, self.total = 0, total
        self.live = sys.stderr.isatty() and not os.environ.get("CI")

    def hear(self, run: runner.Run) -> None:
        """Show where a run is, or how it ended."""
        what = " ".join([run.name, *(f"{parameter}={value}" for parameter, value in run.parameters.items())])
        self.running[run.output] = f"{what} cell {run.cell} of {run.cells}"
        ended = ""
        if run.status != "running":
            del self.running[run.output]
            self.ended += run.status != "waiting"
            cost = f", {run.seconds:.1f} s" if run.seconds else ""
            text = run.message if run.status == "waiting" else f"{run.status}{cost} ({self.ended} of {self.total})"
            ended = f"{what}: {text}\n"
        if self.live:
            line = ", ".join(self.running.values())[: shutil.get_terminal_size().columns - 1]
            ended = f"\r\033[K{ended}{line}"  # in the place of the line before
        click.echo(ended, err=True, nl=False)


def _outcomes(runs: list[runner.Run]) -> list[str]:
    """Return how each notebook ended, a line each."""
    width = max(len(one.name) for one in runs)
    lines = []
    for one in runs:
        cost = f"{one.seconds:6.1f} s wall {one.cpu_seconds:6.1f} s CPU {one.peak_mib:6.0f} MiB" if one.seconds else ""
        where = one.message or os.path.relpath(one.output)
        lines.append(f"{one.name:<{width}}  {one.status:<11} {cost:<38} {where}".rstrip())
    return lines
