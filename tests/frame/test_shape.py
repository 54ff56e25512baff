"""Functions, files and kernels are short, public names have docstrings, and nothing dangerous is called."""

import ast
import re

import pytest

from tests.frame.source import KERNELS, REPOSITORY, package_files, parsed, python_files, shown

FUNCTION_LINES, FILE_LINES, KERNEL_LINES = 70, 300, 60
BANNED_MODULES = {"pickle", "cPickle", "dill", "marshal", "shelve"}
BANNED_CALLS = {"eval", "exec", "yaml.load", "os.system", "os.popen"}
KERNEL_FILES = sorted(KERNELS.rglob("*.cu*"))


def long_functions(tree):
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = node.end_lineno - node.lineno + 1
            if lines > FUNCTION_LINES:
                yield f"line {node.lineno}: {node.name} has {lines} lines"


@pytest.mark.parametrize("path", python_files(), ids=shown)
def test_functions_and_files_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= FILE_LINES
    assert list(long_functions(parsed(path))) == []


def undocumented(tree, prefix=""):
    """Yield public modules, classes, functions and methods without a docstring."""
    if not prefix and not ast.get_docstring(tree):
        yield "the module"
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            if not ast.get_docstring(node):
                yield f"line {node.lineno}: {prefix}{node.name}"
            if isinstance(node, ast.ClassDef):
                yield from undocumented(node, f"{node.name}.")


@pytest.mark.parametrize("path", package_files(), ids=shown)
def test_public_names_have_docstrings(path):
    assert list(undocumented(parsed(path))) == []


def dangerous(tree):
    """Yield imports and calls that execute data or a shell: unpickling, eval, numpy files with objects."""
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        yield from (f"line {node.lineno}: {name}" for name in names if name.split(".")[0] in BANNED_MODULES)
        if isinstance(node, ast.Call):
            if ast.unparse(node.func) in BANNED_CALLS:
                yield f"line {node.lineno}: {ast.unparse(node.func)}"
            for keyword in node.keywords:
                true = isinstance(keyword.value, ast.Constant) and keyword.value.value is True
                if keyword.arg in ("shell", "allow_pickle") and true:
                    yield f"line {node.lineno}: {keyword.arg}=True"


@pytest.mark.parametrize("path", package_files(), ids=shown)
def test_no_dangerous_calls(path):
    assert list(dangerous(parsed(path))) == []


FUNCTION = re.compile(r"^(?:KERNEL|[^\n/#]*\bDEVICE\b[^\n(]*?)\s+(\w+)\([^{;]*\{(?:[^\n]*\}$|.*?^\})", re.M | re.S)


def kernels(text):
    """Yield name and number of lines of each KERNEL or DEVICE function, which ends with a `}` that begins a line."""
    for match in FUNCTION.finditer(text):
        yield match.group(1), match.group(0).count("\n") + 1


@pytest.mark.parametrize("path", KERNEL_FILES, ids=shown)
def test_kernels_are_short_and_have_no_conditions(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= FILE_LINES
    assert text.startswith("//") or text.startswith("/*"), "every file begins with its essay"
    assert [(name, lines) for name, lines in kernels(text) if lines > KERNEL_LINES] == []
    if path.parent.name != "device":
        assert re.findall(r"^\s*#\s*(?:if|ifdef|ifndef|elif|else)\b.*", text, re.M) == [], "belongs in device.cuh"
    if path.suffix == ".cu":
        assert list(kernels(text)), "no kernel found: does `kernels` above still see them?"


def test_no_junk_drawers():
    names = {path.stem for path in package_files()} | {path.name for path in REPOSITORY.joinpath("hpcsolve").iterdir()}
    assert names & {"utils", "util", "helpers", "misc", "common"} == set()


def test_these_tests_can_fail():
    long = "def f():\n" + "    x = 1\n" * FUNCTION_LINES
    assert list(long_functions(ast.parse(long))) == ["line 1: f has 71 lines"]
    for bad in ("import pickle.x", "from dill import y", "eval('1')", "run(x, shell=True)", "f(allow_pickle=True)"):
        assert len(list(dangerous(ast.parse(bad)))) == 1
    bare = '"""Doc."""\nclass A:\n  """Doc."""\n  def f(self): pass\n  def _g(self): pass\ndef h(): pass'
    assert list(undocumented(ast.parse(bare))) == ["line 4: A.f", "line 6: h"]
    assert list(kernels("KERNEL a(int n) {\n  b;\n}\nDEVICE int d() { return 0; }\nKERNEL c(\n    int n) {\n}\n")) == [
        ("a", 3), ("d", 1), ("c", 3),
    ]
