"""The paper has the parts that the journal asks for, cites what its bibliography has, and shows measured numbers."""

import re

from tests.frame.source import REPOSITORY

FOLDER = REPOSITORY / "docs" / "paper"
TEXT = (FOLDER / "paper.md").read_text(encoding="utf-8").split("\n---\n", 1)[1]
SECTIONS = [
    "Summary", "Statement of need", "State of the field", "Software design", "Research impact statement",
    "AI usage disclosure", "Acknowledgements", "References",
]


def test_it_has_the_sections_and_the_length():
    assert re.findall(r"^# (.*)$", TEXT, re.M) == SECTIONS
    assert 750 <= len(TEXT.split()) <= 1750


def test_it_cites_what_the_bibliography_has():
    known = re.findall(r"^@\w+\{(\w+),", (FOLDER / "paper.bib").read_text(encoding="utf-8"), re.M)
    assert sorted(set(re.findall(r"@(\w+)", TEXT))) == known


def test_its_numbers_are_those_of_the_benchmarks():
    rows = "\n".join(path.read_text(encoding="utf-8") for path in REPOSITORY.glob("jobs/benchmarks/*/RESULTS.md"))
    tables = re.findall(r"^\| (.*\d.*) \|$", TEXT, re.M)
    shown = [cell for row in tables for cell in row.split(" | ")[1:]]
    shown += re.findall(r"\b0\.\d+|\b\d+\.\d{3,}", re.sub(r"(?m)^\|.*$", "", TEXT))
    assert len(shown) > 20 and [cell for cell in shown if cell not in rows] == []
