from .checksums import (
    damage as damage,
    write_checksums as write_checksums,
)
from .rows import (
    findings as findings,
    papers as papers,
    published as published,
)
from .verdicts import (
    CLAIMS as CLAIMS,
    GROUNDS as GROUNDS,
    SEEDS as SEEDS,
    results as results,
    verdict as verdict,
    judge as judge,
    judge_findings as judge_findings,
    report as report,
    report_findings as report_findings,
    parameters as parameters,
)
from .display import (
    LEGEND as LEGEND,
    by_paper as by_paper,
    markdown as markdown,
    site_anchor as site_anchor,
    text as text,
)
from .pages import (
    about_letters as about_letters,
    figure_index as figure_index,
    findings_text as findings_text,
    report_page as report_page,
    summary as summary,
)
from .recording import (
    record as record,
    scoreboard as scoreboard,
)
