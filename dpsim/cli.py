"""The commands `dpsim run`, `report`, `list` and `data`.

Other packages offer commands through entry points of the group `dpsim.commands`. They
are loaded when they are used.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from dpsim import __version__, checks, files, notebook, paths, runner

Output = tuple[Iterable[str], int]
"""The lines that a command prints when it ends, and its exit code."""


OFFERED = {
    "release": "Make a private Markov chain from events, counts or visits.",
    "plan": "Predict the noise and the error of a release.",
}
"""The commands of dpsim_release. They are listed here so that help is fast."""


class Offered(click.Command):
    """A command of another package, which is loaded when the command is used."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> click.Context:
        """Return the context of the other package's command."""
        from importlib import metadata  # slow, and only these commands need it

        for entry in metadata.entry_points(group="dpsim.commands", name=str(self.name)):
            command: click.Command = entry.load()
            return command.make_context(info_name, args, parent, **extra)
        raise ImportError(
            f"`dpsim {self.name}` is in the package dpsim_release: run "
            "`pip install -e . -e ./release` in the clone"
        )


class Commands(click.Group):
    """A group of commands. An error that the user can correct is reported in one line
    without a traceback, and the exit code is then 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted([*super().list_commands(ctx), *OFFERED])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, or None."""
        if cmd_name in OFFERED:
            return Offered(cmd_name, help=OFFERED[cmd_name])
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> None:
        """Run a command, and print its output or its error message. Characters that the
        terminal cannot show are replaced."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        done = ""
        try:
            lines, code = super().invoke(ctx)
            text = "".join(f"{line}\n" for line in lines)
            done = (
                f"{ctx.invoked_subcommand} has ended, and its files are written if it "
                "has any, but not its output: "
            )
            click.echo(text, nl=False)
        except BrokenPipeError:
            raise
        except (ValueError, OSError, ImportError) as error:
            click.echo(f"dpsim: {done}{error}", err=True)
            if done:
                # otherwise Python writes the rest again as it exits, with code 120
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 2
        ctx.exit(code)


class WithParameters(click.Command):
    """A command whose `-p` accepts both NAME VALUE and NAME=VALUE."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line after splitting each NAME=VALUE that follows `-p` at
        its first equals sign. (Names contain no equals sign.)"""
        ctx.meta[TYPED] = list(args)
        words: list[str] = []
        for word in args:
            if words and words[-1] in GIVES:
                words += word.split("=", 1)
            else:
                words.append(word)
        options = {name for option in self.params for name in option.opts}
        for place, word in enumerate(words):
            given = words[place + 1 : place + 3]
            alone = len(given) < 2 or given[1] in options
            if word in GIVES and alone and not ctx.resilient_parsing:
                name = given[0] if given and given[0] not in options else "NAME"
                raise ValueError(f"-p {name} needs a value, as in -p {name}=VALUE")
        return super().parse_args(ctx, words)


GIVES = ("-p", "--parameter")
"""The option that gives a parameter and its value."""

TYPED = "words typed"
"""The key below which a context keeps the words of the command line."""


def _names_that_begin(
    ctx: click.Context, argument: click.Parameter, begin: str
) -> list[str]:
    """Return the notebooks that the shell offers for the beginning of a name."""
    return [name for name in paths.notebook_names() if name.startswith(begin)]


def _parameters_that_begin(
    ctx: click.Context, option: click.Parameter, begin: str
) -> list[CompletionItem]:
    """Return the parameters that the shell offers after `-p`, of the notebooks typed so
    far or else of all."""
    typed = ctx.meta[TYPED]
    if typed[-1:] and typed[-1] not in GIVES:
        return []
    names = paths.notebook_names()
    named = [name for name in names if name in typed]
    offered = {
        one.name: CompletionItem(one.name, help=one.help)
        for name in named or names
        for one in notebook.load(name).parameters.values()
        if one.name.startswith(begin) and one.name != "output"
    }
    return list(offered.values())


def option(words: str, told: str, **more: Any) -> Callable[[Any], Any]:
    """Return a decorator that adds an option. `words` contains the option's names and
    the name of its value, as in "-j --jobs N", and `told` is the help text."""
    *names, metavar = words.split()
    return click.option(*names, metavar=metavar, help=told, **more)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    __version__, message="dpsim %(version)s (the distribution dpsim-compendium)"
)
def main() -> None:
    """A living compendium of private Markov chains.

    Run the notebooks, compare their numbers with those of the papers, and release
    a private Markov chain of your own data.
    """


@main.command(cls=WithParameters)
@click.argument("names", nargs=-1, shell_complete=_names_that_begin)
@click.option(
    *GIVES,
    nargs=2,
    multiple=True,
    metavar="NAME VALUE",
    shell_complete=_parameters_that_begin,
    help="Change a parameter, also as NAME=VALUE; repeatable.",
)
@option(
    "-j --jobs N",
    "How many notebooks run at the same time (default: one per core).",
    type=int,
)
@click.option("--force", is_flag=True, help="Run even if nothing has changed.")
@option("--output DIR", "Write the results to DIR/<notebook>.")
@option(
    "--grid NAME=VALUES",
    "Run a sweep over seed=0:100, zones=30,40,50 or, for lists, k=1,2/3,4; repeatable.",
    multiple=True,
)
@option(
    "--dask ADDRESS",
    "Run the sweep on the workers of a Dask scheduler (needs `make extras`).",
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

    The results go to figures/<notebook> or, with any -p, to
    build/runs/<notebook>/<key>. A notebook is skipped if its outputs exist and its
    sources, data, parameters and environment are unchanged.
    """
    if (grid or dask) and (len(names) != 1 or not grid or output is not None or force):
        raise ValueError(
            "a sweep takes one notebook and --grid, with -p, -j and --dask: "
            "no --output, no --force"
        )
    files.need_locks(
        "running notebooks with dpsim",
        "JupyterLab and papermill run them on this system, too",
    )
    if jobs is not None:
        checks.integer("jobs", jobs, 1, runner.runs.MOST_JOBS)
    if grid:
        runs = _planned_sweep(names[0], grid, parameter)
    else:
        runs = runner.plan_runs(names, parameter, output)
    if not runs:
        raise ValueError(f"there are no notebooks in {paths.notebooks()}")
    tell = Progress(len(runs), _is_live()).hear
    # SIGTERM stops the runs as Ctrl-C does
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if dask:
            runner.run_on_cluster(runs, dask, tell)
        else:
            runner.run(runs, jobs, force=force, tell=tell)
    except KeyboardInterrupt:
        for sign in (signal.SIGINT, signal.SIGTERM):
            signal.signal(sign, signal.SIG_IGN)  # the rest takes no time
        _interrupt(runs, tell)
    statuses = Counter(one.status for one in runs)
    lines = _sweep_outcome(runs, statuses) if grid else _outcomes(runs)
    if statuses["interrupted"]:
        return [*lines, "interrupted: run the same command again to continue"], 130
    return lines, int(statuses["failed"] > 0)


def _interrupt(runs: list[runner.Run], tell: Callable[[runner.Run], object]) -> None:
    """Mark the runs that have not ended as interrupted."""
    for one in runs:
        if one.status not in ("done", "unchanged", "failed"):
            one.status = "interrupted"
            one.message = ""
            tell(one)


def _sweep_outcome(runs: list[runner.Run], statuses: Counter[str]) -> list[str]:
    """Return how many points of a sweep have each status, and where its table is."""
    counted = [f"{number} {status}" for status, number in sorted(statuses.items())]
    return [", ".join(counted), f"results: {os.path.relpath(runner.gather(runs))}"]


def _planned_sweep(
    name: str, grid: tuple[str, ...], fixed: tuple[tuple[str, str], ...]
) -> list[runner.Run]:
    """Return the planned runs of a sweep. The progress of the planning is shown, and at
    the end the total number of runs."""
    live = _is_live()

    def tell(planned: int, points: int) -> None:
        line = f"planned {planned} of {points} points"
        if live and planned % 10 == 0:
            click.echo(f"{CLEAR}{line}", err=True, nl=False)
        elif planned % 1000 == 0:
            click.echo(line, err=True)

    try:
        runs = runner.plan_grid(name, grid, fixed, tell)
    finally:
        if live:
            click.echo(CLEAR, err=True, nl=False)
    click.echo(
        f"{name}: a sweep of {len(runs)} runs "
        "(those that are current are not run again)",
        err=True,
    )
    return runs


CLEAR = "\r\033[K"
"""The characters that clear a line of the terminal."""


def _is_live() -> bool:
    """Return whether standard error is a terminal on which a line can be
    overwritten."""
    return sys.stderr.isatty() and not os.environ.get("CI")


@main.command()
@option("--results DIR", "Judge the run in DIR.", type=click.Path(path_type=Path))
def report(results: Path | None) -> Output:
    """Print each number from the papers beside ours, with a verdict.

    A row is in order if it has a number and, in a run with default parameters, if
    the number and its verdict are those that were verified. A finding of our own must
    also keep its limit. The exit code is 1 if a row or a finding is not in order, if a
    table of the ledger does not have its checksum, or if a picture is missing.

    DIR is either the folder of one run, such as build/runs/<notebook>/<key>, in which
    case only the recorded rows are judged, or a folder with a subfolder for each
    notebook. Without --results, figures/ is judged, and figures/REPORT.md is written.
    """
    from dpsim import ledger  # imported here because a run does not need pandas

    claims = ledger.judged_claims(results)
    ours = ledger.judged_findings(results)
    width = shutil.get_terminal_size((120, 24)).columns
    judged = int((claims["inputs"] != "none").sum())
    bad = [
        *claims["shown"][~claims["ok"]].items(),
        *ours["ground"][~ours["ok"]].items(),
    ]
    lines = [ledger.text(claims, width)] if len(claims) else []
    lines.append(
        f"\n{len(claims)} rows ({judged} claims, which are judged, and "
        f"{len(claims) - judged} numbers that are only shown) and {len(ours)} findings "
        f"of our own, {len(bad)} not in order"
    )
    faults = [f"{id}: {verdict}" for id, verdict in bad] + ledger.damage()
    if results is None:
        faults += _missing_pictures()
        path = paths.figures() / "REPORT.md"
        files.write_text(path, ledger.report_text(claims, ours))
        end = [f"the whole report, with all reasons: {os.path.relpath(path)}"]
    else:
        end = _about_parameters(ledger.parameters(results))
    return [*lines, *faults, *end], int(bool(faults))


def _about_parameters(changed: dict[str, Any] | None) -> list[str]:
    """Return a line on the parameters of a run, or none if they are not known."""
    if changed is None:
        return []
    if not changed:
        return ["run with default parameters"]
    listed = ", ".join(
        f"{name} = {json.dumps(value)}" for name, value in changed.items()
    )
    return [f"run with {listed}; all other parameters as usual"]


SAVED = r'figures\.save(?:_moving)?\([^"]*"(\w+)"'
"""A pattern for the calls that save a notebook's pictures; the group is a picture's
name."""


def _missing_pictures() -> list[str]:
    """Return a line for each picture that a notebook saves but that is missing from
    figures/."""
    missing = []
    for name in paths.notebook_names():
        code = [
            c["source"] for c in notebook.load(name).cells if c["cell_type"] == "code"
        ]
        for stem in re.findall(SAVED, "\n".join(code)):
            path = paths.figures() / name / f"{stem}.png"
            if not path.is_file():
                missing.append(
                    f"{os.path.relpath(path)} is missing: `dpsim run {name}` makes it"
                )
    return missing


@main.command("list")
@click.argument("names", nargs=-1, shell_complete=_names_that_begin)
def list_(names: tuple[str, ...]) -> Output:
    """List the notebooks and their parameters. Without NAMES, list all notebooks.

    Each parameter is shown with its type, default, meaning and range.
    """
    lines = []
    for name in names or paths.notebook_names():
        lines.append(name)
        for one in notebook.load(name).parameters.values():
            lines.append(f"    {one.name}: {one.type} = {one.default!r}  {one.help}")
    return lines, 0


@main.group(invoke_without_command=True)
@click.pass_context
def data(ctx: click.Context) -> Output:
    """Show the source, licence and checksum of each data set.

    The exit code is 1 if a file is damaged.
    """
    if ctx.invoked_subcommand:
        return [], 0
    from dpsim.datasets import csv_files

    table = csv_files.load_sources()
    form = (
        "{file}\n    {contents}\n    source: {source}\n    licence: {licence}\n    "
        "sha256 {sha256}\n    {status}"
    )
    lines = [form.format(**row) for row in table.to_dict("records")]
    return lines, int((table["status"] != "intact").any())


@data.command()
def fetch() -> Output:
    """Download the official taxi trips of one month (about 59 MB).

    After that, the notebooks about taxis can be run with `-p trips official`.
    """
    from dpsim.datasets.download import fetch_taxi_month
    from dpsim.datasets.taxi_month import OFFICIAL

    trips, sha256, git_blob = fetch_taxi_month(progress=sys.stderr.isatty())
    same = "as" if git_blob == OFFICIAL.git_blob else "NOT as"
    return [
        f"{OFFICIAL.file}\n    {OFFICIAL.rows:,} rows, {OFFICIAL.manhattan:,} within "
        "Manhattan's 69 zones, as expected",
        f"    sha256 {sha256}",
        f"    git blob id {same} reported for it ({OFFICIAL.git_blob})",
        f"{OFFICIAL.counts}\n    {trips:,} trips between the 63 zones, counted; "
        "source: NYC Taxi and Limousine Commission, trip record data, yellow taxis, "
        f"{OFFICIAL.name}",
    ], 0


class Progress:
    """Shows the progress of runs. On a terminal, one line is overwritten; elsewhere, a
    new line is printed whenever a run waits or ends."""

    def __init__(self, total: int, live: bool) -> None:
        self.running: dict[Path, str] = {}
        self.ended = 0
        self.total = total
        self.live = live

    def hear(self, run: runner.Run) -> None:
        """Show which cell a run has reached, that it is waiting, or how it ended."""
        given = [f"{parameter}={value}" for parameter, value in run.parameters.items()]
        what = " ".join([run.name, *given])
        text = ""
        if run.status == "running":
            self.running[run.output] = f"{run.cell}/{run.cells} {what}"
        else:
            self.running.pop(run.output, None)
            text = f"{what}: {self._news(run)}\n"
        if self.live:
            width = shutil.get_terminal_size().columns - 1
            line = ", ".join(self.running.values())[:width]
            text = f"{CLEAR}{text}{line}"
        click.echo(text, err=True, nl=False)

    def _news(self, run: runner.Run) -> str:
        """Return why a run is waiting or how it ended."""
        if run.status == "waiting":
            return run.message
        self.ended += 1
        cost = f", {run.seconds:.1f} s" if run.seconds else ""
        return f"{run.status}{cost} ({self.ended} of {self.total})"


def _outcomes(runs: list[runner.Run]) -> list[str]:
    """Return, for each run, a line that says how the run ended."""
    width = max(len(one.name) for one in runs)
    lines = []
    for one in runs:
        cost = f"{one.seconds:6.1f} s" if one.seconds else ""
        where = one.message or os.path.relpath(one.output)
        line = f"{one.name:<{width}}  {one.status:<11} {cost:<8} {where}"
        lines.append(line.rstrip())
    return lines
