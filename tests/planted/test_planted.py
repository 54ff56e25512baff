"""Each fault can still be planted, its tests exist, and the program tells what is found from what is not."""

import ast
import shutil

import pytest

from tests.planted import __main__ as program
from tests.planted.faults import FAULTS

SHARES = FAULTS[0]


def test_each_text_stands_in_one_place_and_has_a_mistake_in_it(repository):
    places = [program.place(fault, repository) for fault in FAULTS]
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 30 and len(set(places)) >= 20
    assert all(fault.old != fault.new for fault in FAULTS)


def test_the_test_of_each_fault_exists(repository):
    for fault in FAULTS:
        file, _, name = fault.test.partition("::")
        tree = ast.parse((repository / "tests" / file).read_text())
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name.partition("[")[0] in functions, fault.test


@pytest.mark.parametrize("old", ["no such text", "import annotations"])
def test_a_text_that_is_not_there_once_is_refused(old, repository):
    with pytest.raises(program.NotPlanted, match="its text is there"):
        program.place(SHARES._replace(old=old), repository)


def test_a_name_of_no_fault_is_refused(capsys):
    assert program.main(["a rank's GPU", "--help"]) == 2
    assert capsys.readouterr().err == "planted: no fault is named '--help'\n"


@pytest.mark.slow
def test_what_is_found_and_what_is_not(tmp_path, repository):
    """Another word in a message breaks nothing, and a test that fails anyway finds nothing."""
    root = tmp_path / "tree"
    shutil.copytree(repository, root, symlinks=True, ignore=program.LEFT_OUT)
    harmless = SHARES._replace(name="harmless", old="cannot split {n} items among", new="cannot divide {n} items among")
    found = dict(program.check([SHARES, harmless], root, tmp_path))
    assert SHARES.test in found[SHARES] and found[harmless] == ""
    assert program.place(SHARES, root).read_text() == program.place(SHARES, repository).read_text()
    file, _, name = SHARES.test.partition("::")
    with (root / "tests" / file).open("a") as text:
        text.write(f"\n\ndef {name}():\n    raise AssertionError\n")
    with pytest.raises(program.NotPlanted, match="fails without any fault"):
        list(program.check([SHARES], root, tmp_path))
    with pytest.raises(program.NotPlanted, match="no tests ran"):
        program.failing([f"{file}::test_none"], root, tmp_path)
