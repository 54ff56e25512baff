"""The commands about result files: `hpcsolve verify`, `collect`, `export`, `report` and `tree`."""

from __future__ import annotations

import argparse
from typing import Any

from hpcsolve.cli.options import add_command, add_output, require_new
from hpcsolve.errors import HpcsolveError, InputError
from hpcsolve.wording import counted, show, size, warn

CHECK_FAILED = 1


def add_verify(commands: Any) -> None:
    """Declare `hpcsolve verify`, which checks the answers in result files again."""
    parser = add_command(commands, "verify", _verify, "check the answers in result files, in plain numpy", alone=True)
    parser.add_argument("results", metavar="RESULT.h5", nargs="+", help="with several, one line is printed for each")
    parser.add_argument("--again", action="store_true",
                        help="search again by other means, where that is the only proof; may take as long as the run")
    parser.add_argument("--instance", metavar="FILE", help="the instance, if it has moved; with one result only")


def _verify(options: argparse.Namespace) -> int:
    """Print the answer and the verdict on it, or a line for each of several files. Return the greatest exit code."""
    from hpcsolve.output.schema import answer_lines
    from hpcsolve.runner.verify import verify_file

    if len(options.results) > 1:
        if options.instance is not None:
            raise InputError("--instance goes with one RESULT.h5, not with several; verify them one at a time")
        return max([_verify_in_a_line(path, options.again) for path in options.results])
    path = options.results[0]
    contents, verdict = verify_file(path, options.instance, again=options.again)
    show("\n".join([*answer_lines(contents, path), f"check:  {verdict}"]))
    return CHECK_FAILED if verdict.passed is False else 0


def _verify_in_a_line(path: str, again: bool) -> int:
    from hpcsolve.runner.verify import verify_file

    try:
        _, verdict = verify_file(path, again=again)
    except HpcsolveError as error:
        show(f"{path}: ERROR ({' '.join(str(error).split()).removeprefix(f'{path}: ')})")
        return error.exit_code
    show(f"{path}: {verdict}")
    return CHECK_FAILED if verdict.passed is False else 0


def add_collect(commands: Any) -> None:
    """Declare `hpcsolve collect`, which writes a table with a row per result file."""
    text = "write a table in CSV with a row per result: the answer, times, memory, and all keys of the job"
    parser = add_command(commands, "collect", _collect, text, alone=True)
    text = "result files, patterns such as 'results/*.h5', or folders of result files"
    parser.add_argument("results", metavar="RESULT.h5", nargs="+", help=text)
    add_output(parser, "by default standard output", "-")


def _collect(options: argparse.Namespace) -> int:
    from hpcsolve.analysis.collect import collected

    require_new(options)
    table, faults = collected(options.results)
    if options.output == "-":
        show(table.csv().rstrip("\n"))
    else:
        table.save(options.output, overwrite=options.overwrite)
        show(f"{options.output}: {counted(len(table), 'run')}, {len(table.names)} columns")
    for fault in faults:
        warn(f"hpcsolve: left out: {fault}")
    return max((fault.exit_code for fault in faults), default=0)


def add_export(commands: Any) -> None:
    """Declare `hpcsolve export`, which writes an answer as a file for other programs."""
    text = "write an answer as .csv, .geojson, .dot, .tour (TSPLIB) or .pace (PACE 2018)"
    parser = add_command(commands, "export", _export, text, alone=True)
    parser.add_argument("result", metavar="RESULT.h5")
    add_output(parser, "its suffix names the format")
    text = "which search or query to write, from 0, for formats that hold only one (.dot)"
    parser.add_argument("--number", type=int, metavar="N", help=text)


def _export(options: argparse.Namespace) -> int:
    from hpcsolve.analysis.export import export
    from hpcsolve.analysis.load import load

    require_new(options)
    export(load(options.result).contents, options.result, options.output, options.number)
    return 0


def add_tree(commands: Any) -> None:
    """Declare `hpcsolve tree`, which writes a Steiner tree as text, as `hpcsolve export` does with a file .pace."""
    text = "write the Steiner tree of a result in the format of the PACE challenge: its weight, then its edges"
    parser = add_command(commands, "tree", _tree, text, alone=True)
    parser.add_argument("result", metavar="RESULT.h5")
    add_output(parser, "by default standard output", "-")


def _tree(options: argparse.Namespace) -> int:
    from hpcsolve.analysis.export import PACE
    from hpcsolve.analysis.load import load
    from hpcsolve.formats.files import write_text

    require_new(options)
    write_text("".join(PACE.checked_pieces(load(options.result).contents, options.result)), options.output)
    return 0


def add_report(commands: Any) -> None:
    """Declare `hpcsolve report`, which writes a page about results."""
    text = "write one HTML page about results: answers, pictures, time, provenance; needs matplotlib (extra plot)"
    parser = add_command(commands, "report", _report, text, alone=True)
    parser.add_argument("results", metavar="RESULT.h5", nargs="+")
    add_output(parser, "the page, such as report.html")


def _report(options: argparse.Namespace) -> int:
    from pathlib import Path

    from hpcsolve.replacing import make_folder, write_bytes
    from hpcsolve.report.page import report

    require_new(options)
    content, path = report(options.results).encode(), Path(options.output)
    make_folder(path)
    write_bytes(path, content)
    show(f"{path}: {counted(len(options.results), 'result')}, {size(len(content))}")
    return 0
