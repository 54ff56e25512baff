"""The commands about result files: `hpcsolve verify`, `collect`, `export`, `report` and `tree`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from hpcsolve.analysis.collect import collected
from hpcsolve.analysis.export import EXPORTERS, export
from hpcsolve.analysis.load import load
from hpcsolve.errors import HpcsolveError, InputError
from hpcsolve.formats.files import write_text
from hpcsolve.output.json_text import json_text
from hpcsolve.output.schema import answer_lines, answer_values
from hpcsolve.replacing import write_bytes
from hpcsolve.report.page import report
from hpcsolve.runner.verify import verify_file
from hpcsolve.wording import counted, show, size, warn

CHECK_FAILED = 1


def do_verify(options: argparse.Namespace) -> int:
    """Print the answer and the verdict on it, or a line for each of several files. Return the greatest exit code."""
    if len(options.results) > 1 and options.instance is not None:
        raise InputError("--instance goes with one RESULT.h5, not with several; verify them one at a time")
    if options.json:
        found = [_verdict_as_values(path, options.again, options.instance) for path in options.results]
        show(json_text([values for values, _ in found]))
        return max(code for _, code in found)
    if len(options.results) > 1:
        return max([_verify_in_a_line(path, options.again) for path in options.results])
    path = options.results[0]
    contents, verdict = verify_file(path, options.instance, again=options.again)
    show("\n".join([*answer_lines(contents, path), f"check:  {verdict}"]))
    return CHECK_FAILED if verdict.passed is False else 0


def _verify_in_a_line(path: str, again: bool) -> int:
    try:
        _, verdict = verify_file(path, again=again)
    except HpcsolveError as error:
        show(f"{path}: ERROR ({' '.join(str(error).split()).removeprefix(f'{path}: ')})")
        return error.exit_code
    show(f"{path}: {verdict}")
    return CHECK_FAILED if verdict.passed is False else 0


def _verdict_as_values(path: str, again: bool, instance: str | None) -> tuple[dict[str, Any], int]:
    """Return the verdict on a result and the lines of its answer, by their first words, and the exit code."""
    try:
        contents, verdict = verify_file(path, instance, again=again)
        answer = answer_values(contents, path)
    except HpcsolveError as error:
        return {"file": path, "passed": False, "reason": " ".join(str(error).split()), "answer": None}, error.exit_code
    code = CHECK_FAILED if verdict.passed is False else 0
    return {"file": path, "passed": verdict.passed, "reason": verdict.reason, "answer": answer}, code


def do_collect(options: argparse.Namespace) -> int:
    """Write a table with a row per result file."""
    table, faults = collected(options.results)
    if options.output == "-":
        show(table.json() if options.json else table.csv().rstrip("\n"))
    else:
        table.save(options.output, overwrite=options.overwrite, json=options.json)
        show(f"{options.output}: {counted(len(table), 'run')}, {len(table.names)} columns")
    for fault in faults:
        warn(f"hpcsolve: left out: {fault}")
    return max((fault.exit_code for fault in faults), default=0)


def do_export(options: argparse.Namespace) -> int:
    """Write an answer as a file for other programs."""
    export(load(options.result).contents, options.result, options.output, options.number)
    return 0


def do_tree(options: argparse.Namespace) -> int:
    """Write a Steiner tree as text, as `hpcsolve export` does with a file .pace."""
    pieces = EXPORTERS[".pace"].checked_pieces(load(options.result).contents, options.result)
    write_text("".join(map(str, pieces)), options.output)
    return 0


def do_report(options: argparse.Namespace) -> int:
    """Write a page about results."""
    content, path = report(options.results).encode(), Path(options.output)
    write_bytes(path, content)
    show(f"{path}: {counted(len(options.results), 'result')}, {size(len(content))}")
    return 0
