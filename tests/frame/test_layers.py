"""Imports point down only, and each foreign library is imported in one place only."""

import ast

from tests.frame.source import imports, in_files, name_of, package_files, parsed

LAYERS = [  # from the top down; those in one row stand side by side
    {"hpcsolve.__main__"},
    {"hpcsolve.cli", "hpcsolve.reference"},
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
    {"hpcsolve.replacing", "hpcsolve.memory"},
    {"hpcsolve.errors", "hpcsolve.isolated", "hpcsolve.wording"},
]
HOMES = {  # library -> the only places that may import it
    "mpi4py": ("hpcsolve.parallel.mpi",),
    "ctypes": ("hpcsolve.device.", "hpcsolve.memory.", "hpcsolve.parallel.mpi."),
    "pycuda": ("hpcsolve.device.",),
    "h5py": ("hpcsolve.output.", "hpcsolve.analysis."),
    "matplotlib": ("hpcsolve.analysis.",),
    "scipy": ("hpcsolve.algorithms.", "hpcsolve.analysis.", "hpcsolve.formats.", "hpcsolve.problems."),
    "networkx": ("hpcsolve.analysis.", "hpcsolve.formats.networkx_files."),
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
    for imported, line in imports(tree, executed=True):
        target = layer(imported)
        if imported.startswith("hpcsolve.") and target is not None and target < layer(module):
            yield f"line {line}: {imported}"


def misplaced(module, tree):
    """Yield imports of libraries that belong elsewhere, or nowhere."""
    for imported, line in imports(tree):
        library = imported.split(".")[0]
        homes = HOMES.get(library, ("",))
        if library in FORBIDDEN:
            yield f"line {line}: {library} is not for the run path"
        if not any((module + ".").startswith(home) for home in homes):
            yield f"line {line}: {library} belongs in {homes}"


LAYERED = [path for path in package_files() if name_of(path) != "hpcsolve"]
"""All but the package's own __init__, which hands out names of upper layers, lazily."""


def test_each_module_has_a_layer():
    assert [path for path in LAYERED if layer(name_of(path)) is None] == []


def test_imports_point_down():
    assert in_files(LAYERED, lambda path: upward(name_of(path), parsed(path))) == []


def test_each_library_has_its_place():
    assert in_files(package_files(), lambda path: misplaced(name_of(path), parsed(path))) == []


def test_the_layers_hold_what_they_claim():
    """An import from a layer above is found wherever it stands, unless it is for types only."""
    tree = ast.parse("def f():\n    from hpcsolve.runner import run\n")
    assert list(upward("hpcsolve.device.host", tree)) == ["line 2: hpcsolve.runner.run"]
    assert list(upward("hpcsolve.cli", tree)) == []
    typed = ast.parse("if TYPE_CHECKING:\n    from hpcsolve.parallel.comm import Comm\n")
    assert list(upward("hpcsolve.device.select", typed)) == []
    foreign = ast.parse("import tsplib95\nfrom ctypes import CDLL\nimport numpy")
    assert [found.split(": ")[0] for found in misplaced("hpcsolve.job", foreign)] == ["line 1", "line 2"]
    assert list(misplaced("hpcsolve.device.host", ast.parse("import ctypes"))) == []
