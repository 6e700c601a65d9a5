from .checksums import (
    damage as damage,
    write_checksums as write_checksums,
)
from .rows import (
    CLAIMS as CLAIMS,
    findings as findings,
    papers as papers,
    published as published,
)
from .verdicts import (
    GROUNDS as GROUNDS,
    SEEDS as SEEDS,
    results as results,
    verdict as verdict,
    judge as judge,
    judge_findings as judge_findings,
    judged_claims as judged_claims,
    judged_findings as judged_findings,
    parameters as parameters,
)
from .display import (
    by_paper as by_paper,
    markdown as markdown,
    site_anchor as site_anchor,
    text as text,
)
from .report_page import (
    LEGEND as LEGEND,
    about_letters as about_letters,
    findings_text as findings_text,
    report_text as report_text,
)
from .readme_tables import (
    figure_index as figure_index,
    papers_table as papers_table,
    values_sentence as values_sentence,
)
from .recording import (
    record as record,
    scoreboard as scoreboard,
)
