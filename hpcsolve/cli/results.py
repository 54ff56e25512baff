"""The commands about result files: `hpcsolve verify`, `collect`, `export`, `report` and `tree`."""

from __future__ import annotations

import argparse
from typing import Any

from hpcsolve.cli.options import add_command, on_rank_0, require_new
from hpcsolve.errors import HpcsolveError, InputError
from hpcsolve.wording import counted, show, warn

CHECK_FAILED = 1


def add_verify(commands: Any) -> None:
    """Declare the command and its options."""
    parser = add_command(commands, "verify", _verify, "check the answers in result files, in plain numpy")
    parser.add_argument("results", metavar="RESULT.h5", nargs="+", help="with several, one line is printed for each")
    parser.add_argument("--again", action="store_true",
                        help="search again by other means, where that is the only proof; may take as long as the run")
    parser.add_argument("--instance", metavar="FILE", help="the instance, if it has moved; with one result only")


def _verify(options: argparse.Namespace) -> int:
    return on_rank_0(lambda: _verify_one(options) if len(options.results) == 1 else _verify_all(options))


def _verify_one(options: argparse.Namespace) -> int:
    from hpcsolve.output.schema import answer_lines
    from hpcsolve.runner.verify import verify_file

    path = options.results[0]
    contents, verdict = verify_file(path, options.instance, again=options.again)
    show("\n".join([*answer_lines(contents, path), f"check:  {verdict}"]))
    return CHECK_FAILED if verdict.passed is False else 0


def _verify_all(options: argparse.Namespace) -> int:
    """Print a line for each file, and return the greatest exit code of all."""
    if options.instance is not None:
        raise InputError("--instance goes with one RESULT.h5, not with several; verify them one at a time")
    return max([_verify_in_a_line(path, options.again) for path in options.results])


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
    """Declare the command and its options."""
    text = "write a table in CSV with a row per result: the answer, times, memory, and all keys of the job"
    parser = add_command(commands, "collect", _collect, text)
    text = "result files, patterns such as 'results/*.h5', or folders of result files"
    parser.add_argument("results", metavar="RESULT.h5", nargs="+", help=text)
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="by default standard output")
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it exists")


def _collect(options: argparse.Namespace) -> int:
    def collect() -> int:
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

    return on_rank_0(collect)


def add_export(commands: Any) -> None:
    """Declare the command and its options."""
    text = "write an answer as .csv, .geojson, .dot, .tour (TSPLIB) or .pace (PACE 2018)"
    parser = add_command(commands, "export", _export, text)
    parser.add_argument("result", metavar="RESULT.h5")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="its suffix names the format")
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it exists")
    text = "which search or query to write, from 0, for formats that hold only one (.dot)"
    parser.add_argument("--number", type=int, metavar="N", help=text)


def _export(options: argparse.Namespace) -> int:
    def export() -> int:
        from hpcsolve.analysis.export import export
        from hpcsolve.analysis.load import load

        require_new(options)
        export(load(options.result).contents, options.result, options.output, options.number)
        return 0

    return on_rank_0(export)


def add_report(commands: Any) -> None:
    """Declare the command and its options."""
    text = "write one HTML page about results: answers, pictures, time, provenance; needs matplotlib (extra plot)"
    parser = add_command(commands, "report", _report, text)
    parser.add_argument("results", metavar="RESULT.h5", nargs="+")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the page, such as report.html")
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it exists")


def _report(options: argparse.Namespace) -> int:
    def report() -> int:
        from pathlib import Path

        from hpcsolve.replacing import make_folder, write_bytes
        from hpcsolve.report.page import report as page
        from hpcsolve.wording import size

        require_new(options)
        content, path = page(options.results).encode(), Path(options.output)
        make_folder(path)
        write_bytes(path, content)
        show(f"{path}: {counted(len(options.results), 'result')}, {size(len(content))}")
        return 0

    return on_rank_0(report)


def add_tree(commands: Any) -> None:
    """Declare the command and its options."""
    text = "write the Steiner tree of a result in the format of the PACE challenge: its weight, then its edges"
    parser = add_command(commands, "tree", _tree, text)
    parser.add_argument("result", metavar="RESULT.h5")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="by default standard output")
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it exists")


def _tree(options: argparse.Namespace) -> int:
    def tree() -> int:
        from hpcsolve.analysis.export import PACE, pieces_of
        from hpcsolve.analysis.load import load
        from hpcsolve.formats.files import write_text

        require_new(options)
        write_text("".join(pieces_of(PACE, load(options.result).contents, options.result)), options.output)
        return 0

    return on_rank_0(tree)
