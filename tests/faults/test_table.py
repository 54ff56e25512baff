"""The table of faults names tests that exist, for each fault, and all tests of this folder."""

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
FAULTS = 26
ITSELF = "test_table.py"


@pytest.fixture(scope="module")
def rows():
    """Return the rows of the tables by their first column."""
    lines = [line for line in (HERE / "README.md").read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[-1] for row in cells if row[0] not in ("fault", "#")}


def functions(path):
    """Return the names of the tests in a file."""
    found = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef))
    return {node.name for node in found if node.name.startswith("test_")}


def test_each_fault_has_a_test(rows):
    assert {str(number) for number in range(1, FAULTS + 1)} <= set(rows)
    assert [fault for fault, tests in rows.items() if not TEST.search(tests) and tests != "the same"] == []


def test_each_test_exists(rows, repository):
    named = {found for tests in rows.values() for found in TEST.findall(tests)}
    known = {file: functions(repository / file) for file, _ in named if (repository / file).is_file()}
    missing = {(file, name) for file, name in named if file not in known or (name and name not in known[file])}
    assert missing == set()


def test_all_tests_of_the_folder_are_in_the_table(rows, repository):
    named = {name for tests in rows.values() for _, name in TEST.findall(tests)}
    for path in HERE.glob("test_*.py"):
        if path.name != ITSELF:
            assert functions(path) <= named, path.relative_to(repository)
