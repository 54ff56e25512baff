"""Imports point down only, and each foreign library is imported in one place only."""

import ast

import pytest

from tests.frame.source import imports, name_of, package_files, parsed, shown, without_type_checking

LAYERS = [  # from the top down; those in one row stand side by side
    {"hpcsolve.__main__"},
    {"hpcsolve.cli"},
    {"hpcsolve.api"},
    {"hpcsolve.report"},
    {"hpcsolve.analysis"},
    {"hpcsolve.sweep", "hpcsolve.slurm"},
    {"hpcsolve.runner"},
    {"hpcsolve.job"},
    {"hpcsolve.output"},
    {"hpcsolve.algorithms"},
    {"hpcsolve.answers"},
    {"hpcsolve.checkpoint"},
    {"hpcsolve.parallel"},
    {"hpcsolve.device"},
    {"hpcsolve.formats"},
    {"hpcsolve.problems"},
    {"hpcsolve.replacing"},
    {"hpcsolve.errors", "hpcsolve.isolated", "hpcsolve.wording"},
]
HOMES = {  # library -> the only places that may import it
    "mpi4py": ("hpcsolve.parallel.mpi",),
    "ctypes": ("hpcsolve.device.", "hpcsolve.parallel.parent."),
    "pycuda": ("hpcsolve.device.",),
    "h5py": ("hpcsolve.output.", "hpcsolve.analysis."),
    "matplotlib": ("hpcsolve.analysis.",),
    "scipy": ("hpcsolve.algorithms.", "hpcsolve.analysis.", "hpcsolve.formats.", "hpcsolve.problems."),
    "networkx": ("hpcsolve.analysis.", "hpcsolve.formats.graph.networkx_files."),
    "pandas": ("hpcsolve.analysis.",),
}
FORBIDDEN = {"tsplib95", "vrplib"}


def layer(module):
    """Return the number of a module's layer from the top, or None for the package itself."""
    for depth, modules in enumerate(LAYERS):
        if any(module == name or module.startswith(name + ".") for name in modules):
            return depth
    return None


def upward(module, tree):
    """Yield imports from a layer above. Imports for type annotations are allowed."""
    for imported, line in imports(without_type_checking(tree)):
        target = layer(imported)
        if imported.startswith("hpcsolve.") and target is not None and target < layer(module):
            yield f"line {line}: {imported}"


@pytest.mark.parametrize("path", package_files(), ids=shown)
def test_imports_point_down(path):
    module = name_of(path)
    if module == "hpcsolve":
        pytest.skip("the package's own __init__ hands out names of upper layers, lazily")
    assert layer(module) is not None, f"{module} belongs to no layer: give it a place in LAYERS"
    assert list(upward(module, parsed(path))) == []


@pytest.mark.parametrize("path", package_files(), ids=shown)
def test_each_library_has_its_place(path):
    module = name_of(path)
    for imported, line in imports(parsed(path)):
        library = imported.split(".")[0]
        assert library not in FORBIDDEN, f"line {line}: {library} is not for the run path"
        homes = HOMES.get(library, ("",))
        assert any((module + ".").startswith(home) for home in homes), f"line {line}: {library} belongs in {homes}"


def test_the_layers_hold_what_they_claim():
    """An import from a layer above is found wherever it stands, unless it is for types only."""
    tree = ast.parse("def f():\n    from hpcsolve.runner import run\n")
    assert list(upward("hpcsolve.device.host", tree)) == ["line 2: hpcsolve.runner.run"]
    assert list(upward("hpcsolve.cli", tree)) == []
    typed = ast.parse("if TYPE_CHECKING:\n    from hpcsolve.parallel.comm import Comm\n")
    assert list(upward("hpcsolve.device.select", typed)) == []
