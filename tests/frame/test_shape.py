"""Public names have docstrings, nothing dangerous is called, and kernels have an essay and no conditions."""

import ast
import re

from tests.frame.source import KERNELS, REPOSITORY, in_files, package_files, parsed, text_of

BANNED_MODULES = {"pickle", "cPickle", "dill", "marshal", "shelve"}
BANNED_CALLS = {"eval", "exec", "yaml.load", "os.system", "os.popen"}
KERNEL_FILES = [path for path in sorted(KERNELS.rglob("*")) if path.is_file()]


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


def test_public_names_have_docstrings():
    assert in_files(package_files(), lambda path: undocumented(parsed(path))) == []


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


def test_no_dangerous_calls():
    assert in_files(package_files(), lambda path: dangerous(parsed(path))) == []


FUNCTION = re.compile(r"^(?:KERNEL|[^\n/#]*\bDEVICE\b[^\n(]*?)\s+(\w+)\([^{;]*\{(?:[^\n]*\}$|.*?^\})", re.M | re.S)


def kernels(text):
    """Yield the name of each KERNEL or DEVICE function, which ends with a `}` that begins a line."""
    for match in FUNCTION.finditer(text):
        yield match.group(1)


def faults(path):
    """Yield what is wrong with the form of a kernel file."""
    text = text_of(path)
    if not text.startswith(("//", "/*")):
        yield "every file begins with its essay"
    if path.parent.name != "device":
        conditions = re.findall(r"^\s*#\s*(?:if|ifdef|ifndef|elif|else)\b.*", text, re.M)
        yield from (f"{condition} belongs in device.cuh" for condition in conditions)
    if path.suffix == ".cu" and not list(kernels(text)):
        yield "no kernel found: does `kernels` above still see them?"
    if path.suffix == ".cpp" and "EXPORT_FUNCTION(" not in text:
        yield "no function of the host"


def test_kernels_have_an_essay_and_no_conditions():
    assert in_files(KERNEL_FILES, faults) == []


def test_no_junk_drawers():
    names = {path.stem for path in package_files()} | {path.name for path in REPOSITORY.joinpath("hpcsolve").iterdir()}
    assert names & {"utils", "util", "helpers", "misc", "common"} == set()


def test_these_tests_can_fail():
    for bad in ("import pickle.x", "from dill import y", "eval('1')", "run(x, shell=True)", "f(allow_pickle=True)"):
        assert len(list(dangerous(ast.parse(bad)))) == 1
    bare = '"""Doc."""\nclass A:\n  """Doc."""\n  def f(self): pass\n  def _g(self): pass\ndef h(): pass'
    assert list(undocumented(ast.parse(bare))) == ["line 4: A.f", "line 6: h"]
    text = "KERNEL a(int n) {\n  b;\n}\nDEVICE int d() { return 0; }\nKERNEL c(\n    int n) {\n}\n"
    assert list(kernels(text)) == ["a", "d", "c"]
