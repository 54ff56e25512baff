"""Docstrings begin with one plain sentence, and prose keeps to the glossary."""

import ast
import io
import re
import tokenize

from tests.frame.source import KERNELS, in_files, package_files, parsed, python_files, text_of

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
REPLACED = {
    r"(?<!on a )(?<!great[- ])\bcircles?\b": "cycle",
    r"\bways? back\b": "predecessor, shortest-path tree",
    r"\bhorizons?\b": "cutoff",
    r"\bgoals?\b": "target",
    r"\b(?:lay|lays|laid|laying) (?:trails?|pheromone)\b": "deposit",
    r"\bno valid\b": "not a valid",
    r"\b(?:one|once|bytes|lines?|files?|copy) an? (?:rank|host|GPU|node|thread|device|process)\b": "per rank, ...",
}
"""Words of the glossary's column "not" that can be told from correct prose, and what to write instead."""


def summaries(tree):
    """Yield line and first line of every docstring."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            yield getattr(node, "lineno", 1), text.splitlines()[0]


def unplain(tree):
    """Yield summaries with a semicolon outside of code."""
    for line, summary in summaries(tree):
        if ";" in re.sub(r"`[^`]*`", "", summary):
            yield f"line {line}: {summary}"


def python_prose(text):
    """Yield line and text of comments, docstrings and messages, which are all the strings of a file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def kernel_prose(text):
    """Yield line and text of the comments of a CUDA file."""
    for comment in re.finditer(r"//[^\n]*(?:\n[ \t]*//[^\n]*)*|/\*.*?\*/", text, re.S):
        yield text.count("\n", 0, comment.start()) + 1, re.sub(r"\n\s*//", " ", comment.group(0))


def replaced_words(prose):
    """Yield words that the glossary replaces."""
    for line, text in prose:
        for pattern, better in REPLACED.items():
            for found in re.finditer(pattern, " ".join(text.split()), re.I):
                yield f"line {line}: {found.group(0)!r}: write {better}"


def switches_of_formatters(text):
    """Yield the lines of comments that switch a formatter off or on."""
    prose = python_prose(text) if "fmt:" in text else ()  # it takes a while to tell strings from comments
    yield from (f"line {line}" for line, said in prose if re.fullmatch(r"#\s*fmt:.*", said))


def test_docstrings_begin_with_one_sentence():
    assert in_files(python_files(), lambda path: unplain(parsed(path))) == []


def test_no_formatter_is_switched_off():
    assert in_files(python_files(), lambda path: switches_of_formatters(text_of(path))) == []


def test_python_keeps_to_the_glossary():
    assert in_files(package_files(), lambda path: replaced_words(python_prose(text_of(path)))) == []


def test_kernels_keep_to_the_glossary():
    sources = sorted(path for path in KERNELS.rglob("*") if path.is_file())
    assert in_files(sources, lambda path: replaced_words(kernel_prose(text_of(path)))) == []


def test_these_tests_can_fail():
    source = '"""A; b."""\ndef f():\n    """Return `a; b`."""\nclass C:\n    """One.\n\n    Two; three."""\n'
    assert list(unplain(ast.parse(source))) == ["line 1: A; b."]
    assert list(switches_of_formatters("x = 'fmt: on'\n# fmt: off\n")) == ["line 2"]
    prose = python_prose('x = f"a {y} closes a\\n circle"  # on a circle, once a host\n')
    found = list(replaced_words(prose))
    assert found == ["line 1: 'circle': write cycle", "line 1: 'once a host': write per rank, ..."]
    kernel = "int circle;\n// the way\n// back\n/* a\ngoal */\n"
    assert [text.split(": ")[:2] for text in replaced_words(kernel_prose(kernel))] == [
        ["line 2", "'way back'"], ["line 4", "'goal'"],
    ]
