"""The project's own source files, for the tests of their form."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PACKAGE = REPOSITORY / "hpcsolve"
KERNELS = REPOSITORY / "cuda_src"


def package_files() -> list[Path]:
    """Return every Python file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def python_files() -> list[Path]:
    """Return every Python file of the package, the tests, the benchmarks and what makes releases."""
    folders = ("hpcsolve", "tests", "jobs", "release")
    return [path for folder in folders for path in sorted((REPOSITORY / folder).rglob("*.py"))]


@functools.cache
def text_of(path: Path) -> str:
    """Return the text of a file, which is read once for all tests."""
    return path.read_text(encoding="utf-8")


@functools.cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file, which is parsed once for all tests. Nobody may change it."""
    return ast.parse(text_of(path), str(path))


def in_files(paths: Iterable[Path], find: Callable[[Path], Iterable[str]]) -> list[str]:
    """Return what `find` yields for each file, behind the file's path."""
    return [f"{shown(path)}: {found}" for path in paths for found in find(path)]


def name_of(path: Path) -> str:
    """Return the name of a file's module, for example `hpcsolve.device.host`."""
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def shown(path: Path) -> str:
    """Return the path of a file relative to the repository, for messages."""
    return str(path.relative_to(REPOSITORY))


def imports(tree: ast.AST, executed: bool = False) -> list[tuple[str, int]]:
    """Return every module that a tree imports, at any depth, with its line. `from a import b` counts as `a.b`.

    Where only what is `executed` counts, `if TYPE_CHECKING:` blocks do not.
    """
    found = []
    for node in _executed(tree) if executed else ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative imports hide the layer"
            found += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
    return found


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree that are not in `if TYPE_CHECKING:` blocks."""
    rest = [tree]
    while rest:
        node = rest.pop()
        yield node
        typed = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        rest += node.orelse if typed else ast.iter_child_nodes(node)
