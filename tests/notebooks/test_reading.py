"""How a notebook reads: no number in prose without its evidence."""

import re
from collections.abc import Iterator
from typing import Any

import nbformat
import numpy as np
import pytest

from dpsim import ledger, paths

EXCEPTIONS: dict[str, dict[str, str]] = {
    "mdp_policy_synthesis": {"3.5": "the gigahertz of the paper's computer"},
}
"""Numbers in the prose of a notebook that no cell shows: notebook, then number, then
the reason."""

NUMBER = re.compile(
    r"(?<![\w.,/-])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
    r"(?:[eE][-+]?\d+| *\\?%)?(?![\w/]|[.,]\d)"
)
"""A number in a text, with its thousands, its power of ten or its per cent; none inside
a word or a name."""

NO_RESULT = re.compile(
    r"`[^`]*`|\]\([^)]*\)|https?://\S+|<[^>]+>"
    r"|\b(?:Theorem|Corollary|Lemma|Section|Definition|Assumption|Algorithm|"
    r"Proposition|Remark|Appendix|Table|Figure|arXiv:?|doi:?|equation|exercise|part|"
    r"page|issue)s?\W+A?[\d.]+[a-z]?(?:(?:, | and | to |-)A?[\d.]+[a-z]?)*",
    re.IGNORECASE,
)
"""What holds digits and no result: code, addresses, names of places in a paper."""


CALCULATION = re.compile(
    r"\$\$.*?\$\$|\$[^$]*\$|<details>.*?</details>|^ {0,3}>.*?$",
    re.DOTALL | re.MULTILINE,
)
"""Formulas, folded solutions and proofs in a quotation: their numbers are mathematics
or a calculation by hand."""


def cells(name: str) -> list[nbformat.NotebookNode]:
    return nbformat.read(paths.notebooks() / f"{name}.ipynb", as_version=4).cells


def numbers_in(text: str) -> Iterator[tuple[str, float, float]]:
    """Yield each number of a text: as written, its value, and half a unit of its last
    digit."""
    for found in NUMBER.finditer(NO_RESULT.sub(" ", text).replace("{,}", ",")):
        written = found.group().replace("−", "-")
        mantissa = re.match(r"-?[\d,]+(?:\.(\d+))?", written)
        assert mantissa
        power = (
            int(written.lower().partition("e")[2] or 0) if "%" not in written else -2
        )
        digits = mantissa[0].replace(",", "")
        yield (
            written,
            float(f"{digits}e{power}"),
            0.5 * 10.0 ** (power - len(mantissa[1] or "")),
        )


def results_in(text: str) -> Iterator[tuple[str, float, float]]:
    """Yield the numbers of a text that may be results: no whole number below 100, no
    year, none of one digit."""
    for written, value, half in numbers_in(text):
        small = abs(value) < 100 or re.fullmatch(r"19\d\d|20\d\d|2100", written)
        plain = small and re.fullmatch(r"-?[\d,]+", written)
        if not plain and len(re.sub(r"[eE].*|\D", "", written).lstrip("0")) >= 2:
            yield written, value, half


def shown(name: str) -> np.ndarray:
    """Return every number that a parameter, an output or the ledger shows, sorted,
    without signs."""
    texts = []
    for cell in cells(name):
        if "parameters" in cell.metadata.get("tags", []):
            texts += [cell.source]
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:  # its text is the caption, which is prose
                continue
            texts += [
                output.get("text", ""),
                *(text for kind, text in data.items() if kind.startswith("text/")),
            ]
    ledger_rows = ledger.judged_claims()
    ledger_rows = ledger_rows[
        ledger_rows["paper"].map(ledger.papers()["notebook"]) == name
    ]
    texts += [*ledger_rows["printed"], *ledger_rows["quantity"]]
    held = [
        float(x.replace(",", ""))
        for text in texts
        for x in re.findall(r"\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?", text)
    ]
    numbers = [
        ledger_rows[column].to_numpy(float)
        for column in ("reproduced", "expected", "published", "limit")
    ]
    everything = np.abs(np.concatenate([held, *numbers]))
    return np.sort(everything[np.isfinite(everything)])


def without_evidence(text: str, held: np.ndarray) -> list[str]:
    """Return the numbers of a text that round from none of those held, as they stand or
    as a share of one."""
    missing = []
    for written, value, half in results_in(text):
        for scale in (1.0, 100.0) if "%" in written else (1.0,):
            target = abs(value) * scale
            slack = half * scale * (1 + 1e-6)
            near = np.searchsorted(held, [target - slack, target + slack])
            if near[0] < near[1]:
                break
        else:
            missing.append(written)
    return missing


@pytest.mark.parametrize("name", paths.notebook_names())
def test_each_number_in_prose_stands_in_an_output_a_parameter_or_the_ledger(
    name: str,
) -> None:
    held = shown(name)
    excused = EXCEPTIONS.get(name, {})
    prose = [
        CALCULATION.sub(" ", cell.source)
        for cell in cells(name)
        if cell.cell_type == "markdown"
    ]
    found = {
        number: text[:60]
        for text in prose
        for number in without_evidence(text, held)
        if number not in excused
    }
    assert not found, "print it, or excuse it in EXCEPTIONS with a reason"
    used = {written for text in prose for written, _, _ in results_in(text)}
    assert set(excused) <= used, "excuses that nothing needs"


@pytest.mark.parametrize(
    "row", list(ledger.published().itertuples()), ids=lambda row: row.Index
)
def test_a_sentence_of_the_ledger_types_no_number_of_ours(row: Any) -> None:
    rows = ledger.published().query("paper == @row.paper")
    theirs = [
        *(rows["printed"] + " " + rows["unit"]),
        *rows["quantity"],
        f"{row.draws:.0f}",
    ]
    held = {value for text in theirs for _, value, _ in numbers_in(text)}
    typed = [
        found[:2]
        for found in numbers_in(re.sub(r"\{[^}]*\}", "", row.sentence))
        if found[1] not in held
    ]
    assert [
        written for written, _ in typed if not re.fullmatch(r"-?\d\d?|20\d\d", written)
    ] == [], "fill it"


def test_what_is_a_result_in_a_text_and_what_is_evidence() -> None:
    text = (
        "In 2026, Theorem 5.12 and `0.77` give 12.7 letters, 34 %, 2,931,688 trips "
        "and $1.4e-16$; 45 zones, 0.5."
    )
    assert [written for written, _, _ in results_in(text)] == [
        "12.7",
        "34 %",
        "2,931,688",
        "1.4e-16",
    ]
    held = np.array([1.397e-16, 0.3435, 12.6866, 2931688.0])
    assert without_evidence(text, held) == []
    assert without_evidence(text.replace("12.7", "12.6"), held) == ["12.6"]
    assert without_evidence(text.replace("34 %", "35 %"), held) == ["35 %"]
