"""Our own objects say what they have: no `hasattr`, no `getattr` with a default, for these hide a renamed attribute."""

import ast

import pytest

from tests.frame.source import package_files, parsed, shown

FOREIGN = {  # file -> attributes of objects of others that are looked for
    "hpcsolve/analysis/plot/network.py": ["'is_directed'"],  # networkx
    "hpcsolve/device/gpus.py": ["'cuDeviceGetUuid_v2'"],  # a function that old drivers lack
    "hpcsolve/parallel/printing.py": ["'encoding'"],  # of any stream
    "hpcsolve/problems/data_frame.py": ["'columns'", "'index'", "'to_numpy'"],  # pandas
    "hpcsolve/problems/graph_convert.py": ["'tocoo'", "'name'"],  # scipy, networkx
    "hpcsolve/runner/kinds/graph.py": ["'tocoo'", "'is_directed'"],  # scipy, networkx
}


def looked_for(tree):
    """Yield the attributes that may be missing, as the source names them, without Python's own (`__name__`)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (ast.unparse(node.func), len(node.args)) in {("getattr", 3), ("hasattr", 2)}:
            name = ast.unparse(node.args[1])
            if not name.startswith("'__"):
                yield name


@pytest.mark.parametrize("path", package_files(), ids=shown)
def test_attributes_are_there(path):
    found = looked_for(parsed(path))
    assert set(found) <= set(FOREIGN.get(shown(path), ()))


@pytest.mark.parametrize("file", FOREIGN)
def test_the_list_is_no_longer_than_it_must_be(file):
    paths = {shown(path): path for path in package_files()}
    assert set(FOREIGN[file]) <= set(looked_for(parsed(paths[file])))


def test_these_tests_can_fail():
    tree = ast.parse("getattr(comm, 'library', None), hasattr(job, name), getattr(a, 'b'), getattr(a, '__args__', ())")
    assert list(looked_for(tree)) == ["'library'", "name"]
