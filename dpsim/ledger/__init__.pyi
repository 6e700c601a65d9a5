from .rows import (
    papers as papers,
    published as published,
)
from .verdicts import (
    CLAIMS as CLAIMS,
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
    summary as summary,
    markdown as markdown,
    site_anchor as site_anchor,
)
from .recording import (
    record as record,
    scoreboard as scoreboard,
)
