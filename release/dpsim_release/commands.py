"""The commands `dpsim release` and `dpsim plan`, as click reads them."""

from __future__ import annotations

from typing import Any

import click

from dpsim.cli import Output, option


@click.command()
@click.argument("files", nargs=-1, required=True)
@option("--origin COL", "Column of the state that an event leaves.")
@option("--destination COL", "Column of the state that an event enters.")
@option("--count COL", "Column with the number of events of a row.")
@option("--trajectory U,T,P", "For visits: columns of user, time and place.")
@option("--time-format FORM", "iso, seconds, milliseconds, or like %d.%m.%Y %H:%M.")
@option("--max-gap TIME", "Longest time between two visits (30min, 2h).")
@option("--categories FILE", "The public states, one in each line.")
@option("--graph FILE", "Table of the possible pairs, instead of the states.")
@option("--delimiter D", "What separates fields (default: see the header).")
@click.option(
    "--quotes/--no-quotes",
    default=None,
    help="Fields may be quoted (default: not in tsv).",
)
@option("--pairs KIND", "With states: all (default) or private pairs.")
@option("--unit COL", "Column of the persons to protect as a whole.")
@option("--events M", "Largest number of events counted for a person.", type=int)
@option(
    "--estimate KIND",
    "learned (default) or plain (negatives become 0).",
    default="learned",
)
@option(
    "--epsilon E",
    "Epsilon of the release (1 is a common choice).",
    type=float,
)
@option("--delta D", "Delta of the release, for private pairs (say 1e-6).", default=0.0)
@option("--output DIR", "New folder to publish; DIR_OWNER_ONLY is yours.")
@option("--budget FILE", "Record of what these data have spent so far.")
@option("--limit E,D", "Most that all releases may spend (for a new budget).")
@click.option(
    "--check", is_flag=True, help="Only show you what would be counted or left out."
)
@option(
    "--seed N",
    "Simulate; never publish the result.",
    type=click.IntRange(0),
)
def release(files: tuple[str, ...], **options: Any) -> Output:
    """Make a private Markov chain from events, counts or visits.

    FILES are csv, tsv (also .gz) or Parquet files, or a folder. Without states or a
    graph, frequent pairs are chosen privately. Only the standard output may be
    published, and not that a table was refused. In Python: dpsim_release.privatize.
    """
    from dpsim_release.command_lines import release_lines

    def tell(line: str) -> None:
        click.echo(line, err=True)

    return release_lines(list(files), tell, **options), 0


@click.command()
@option("--states N", "How many states there are.", type=int, required=True)
@option(
    "--events N",
    "A public guess of the number of events.",
    type=int,
    required=True,
)
@option(
    "--persons N",
    "A public guess of the number of persons (cars, sessions).",
    type=int,
)
@option(
    "--limits M,M,...",
    "Largest numbers of events of a person (default: protect single events).",
)
@option(
    "--epsilon E,E,...",
    "Values of epsilon.",
    default="0.1,0.3,1,3",
    show_default=True,
)
@option("--delta D", "Delta, at least 0 and below 1.", default=0.0, show_default=True)
@option("--pairs N", "How many pairs a declared graph allows (default: all).", type=int)
def plan(**options: Any) -> Output:
    """Predict the noise and the error of a release.

    Only public numbers are used, and no privacy budget is spent.
    """
    from dpsim_release.command_lines import plan_lines

    return plan_lines(**options), 0
