"""`hpcsolve collect`: writes a table with a row per result file."""

from __future__ import annotations

import argparse
from typing import Any

from hpcsolve.cli.options import add_command, on_rank_0, require_new
from hpcsolve.parallel.printing import show, warn
from hpcsolve.wording import counted


def add(commands: Any) -> None:
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
