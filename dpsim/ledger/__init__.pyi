from .rows import (
    papers as papers,
    published as published,
)
from .verdicts import (
    VERDICTS as VERDICTS,
    CLAIMS as CLAIMS,
    RULE as RULE,
    SEEDS as SEEDS,
    results as results,
    verdict as verdict,
    judge as judge,
    report as report,
    parameters as parameters,
)
from .display import (
    LEGEND as LEGEND,
    by_paper as by_paper,
    counts as counts,
    summary as summary,
    markdown as markdown,
    anchor as anchor,
    site_anchor as site_anchor,
)
from .recording import (
    record as record,
    scoreboard as scoreboard,
)
