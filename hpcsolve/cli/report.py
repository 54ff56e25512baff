"""`hpcsolve report`: writes a page about results."""

from __future__ import annotations

import argparse
from typing import Any

from hpcsolve.cli.options import add_command, on_rank_0, require_new
from hpcsolve.parallel.printing import show
from hpcsolve.wording import counted


def add(commands: Any) -> None:
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
