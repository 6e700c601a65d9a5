"""A private Markov chain of a table in one call."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, ParamSpec

from dpsim.files import need_locks
from dpsim_release import owner, release_folder
from dpsim_release.budget import spend
from dpsim_release.chain import PrivateChain, losses, release_chain
from dpsim_release.options import Options, ReleaseOptions
from dpsim_release.table import Counts

WRITING = "writing a release"
WITHOUT_LOCKS = (
    "`dpsim release --check` works, and so does dpsim_release.privatize without output "
    "and budget"
)
"""What a user can still do on a system where files cannot be locked."""

_Arguments = ParamSpec("_Arguments")


def _takes(
    options: Callable[_Arguments, ReleaseOptions],
) -> Callable[
    [Callable[[ReleaseOptions], PrivateChain]], Callable[_Arguments, PrivateChain]
]:
    """Let a function of options take their arguments, as editors and `help` show."""
    signature = inspect.signature(options)

    def decorate(
        function: Callable[[ReleaseOptions], PrivateChain],
    ) -> Callable[_Arguments, PrivateChain]:
        @functools.wraps(function)
        def call(*args: _Arguments.args, **named: _Arguments.kwargs) -> PrivateChain:
            try:
                signature.bind(*args, **named)
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            return function(options(*args, **named))

        call.__signature__ = signature.replace(  # type: ignore[attr-defined]
            return_annotation="PrivateChain"
        )
        return call

    return decorate


@_takes(ReleaseOptions)
def privatize(options: ReleaseOptions) -> PrivateChain:
    """Return a private Markov chain of a table of events, counts or visits.

    `dpsim release` calls this function.

    Parameters
    ----------
    source, epsilon, delta, output, budget, limit, rng, tell : as in `ReleaseOptions`
    origin, destination, count, trajectory, time_format, max_gap : as in `Options`
    categories, graph, pairs, unit, events, estimate, delimiter, quotes : as in
    `Options`

    Returns
    -------
    PrivateChain

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"from": ["a", "b"] * 500, "to": ["b", "a"] * 500})
    >>> ends = {"origin": "from", "destination": "to"}
    >>> chain = privatize(table, **ends, categories=["a", "b"], epsilon=1, rng=1)
    >>> chain.stationary().round(2).tolist()
    [0.5, 0.5]
    """
    if options.output is not None:
        need_locks(WRITING, WITHOUT_LOCKS)
    noise, _, spent = losses(
        options.epsilon, options.delta, options.protected, options.support
    )
    if options.limit is not None and options.budget is None:
        raise ValueError(
            "limit belongs to a budget (--budget FILE), in which it is recorded, but "
            "no budget was given"
        )
    if options.budget is not None and options.rng is None:
        # a release that would exceed the limit is refused before any row is read
        spend(
            options.budget,
            epsilon=noise.epsilon,
            delta=spent,
            unit=options.protected,
            limit=options.limit,
            dry=True,
        )
    with (
        nullcontext()
        if options.output is None
        else release_folder.prepare(options.output, options.budget)
    ) as place:
        if options.tell is None:
            counts = options.counts(options.source)
        else:
            counts = counts_aloud(options.source, options, options.tell)
        chain = release_chain(
            counts,
            epsilon=options.epsilon,
            delta=options.delta,
            support=options.support,
            estimate=options.estimate,
            budget=options.budget,
            limit=options.limit,
            rng=options.rng,
        )
        if place is not None:
            place.write(chain, counts)
    return chain


def counts_aloud(source: Any, options: Options, tell: Callable[[str], None]) -> Counts:
    """Return the counts after telling the owner what was counted and what was left
    out."""
    lines = ["for you only:"]
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = lambda message, *_: lines.append(f"warning: {message}")
        counts = options.counts(source)
    for line in lines + owner.count_lines(counts, options.support):
        tell(line)
    return counts
