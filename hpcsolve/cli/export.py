"""`hpcsolve export`: writes an answer as a file for other programs."""

from __future__ import annotations

import argparse
from typing import Any

from hpcsolve.cli.options import add_command, on_rank_0, require_new


def add(commands: Any) -> None:
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
