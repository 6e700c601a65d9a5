from .rows import (
    papers as papers,
    published as published,
)
from .verdicts import (
    VERDICTS as VERDICTS,
    CLAIMS as CLAIMS,
    RULE as RULE,
    SEEDS as SEEDS,
    record as record,
    results as results,
    word as word,
    judge as judge,
    report as report,
    parameters as parameters,
)
from .display import (
    LEGEND as LEGEND,
    by_paper as by_paper,
    counts as counts,
    scoreboard as scoreboard,
    summary as summary,
    markdown as markdown,
    anchor as anchor,
    site_anchor as site_anchor,
)
