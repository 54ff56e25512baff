"""Our own objects say what they have: no `hasattr`, no `getattr` with a default, for these hide a renamed attribute."""

import ast

from tests.frame.source import REPOSITORY, in_files, package_files, parsed, shown

FOREIGN = {  # file -> attributes of objects of others that are looked for
    "hpcsolve/api.py": ["'tolist'"],  # pandas
    "hpcsolve/analysis/plot/maps.py": ["'is_directed'"],  # networkx
    "hpcsolve/device/select.py": ["'cuDeviceGetUuid_v2'"],  # a function that old drivers lack
    "hpcsolve/parallel/launch.py": ["'once_per_host'", "'Is_inter'"],  # any object that is no comm, mpi4py
    "hpcsolve/wording.py": ["'encoding'"],  # of any stream
    "hpcsolve/problems/libraries.py": ["'tocoo'", "'name'", "'columns'", "'index'", "'to_numpy'"],  # scipy, pandas
    "hpcsolve/problems/tsp.py": ["'is_directed'"],  # networkx
    "hpcsolve/runner/kinds.py": ["'tocoo'", "'is_directed'"],  # scipy, networkx
}


def looked_for(tree):
    """Yield the attributes that may be missing, as the source names them, without Python's own (`__name__`)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (ast.unparse(node.func), len(node.args)) in {("getattr", 3), ("hasattr", 2)}:
            name = ast.unparse(node.args[1])
            if not name.startswith("'__"):
                yield name


def test_attributes_are_there():
    def unlisted(path):
        return set(looked_for(parsed(path))) - set(FOREIGN.get(shown(path), ()))

    assert in_files(package_files(), unlisted) == []


def test_the_list_is_no_longer_than_it_must_be():
    listed = [REPOSITORY / file for file in FOREIGN]
    assert in_files(listed, lambda path: set(FOREIGN[shown(path)]) - set(looked_for(parsed(path)))) == []


def test_these_tests_can_fail():
    tree = ast.parse("getattr(comm, 'library', None), hasattr(job, name), getattr(a, 'b'), getattr(a, '__args__', ())")
    assert list(looked_for(tree)) == ["'library'", "name"]
