"""`hpcsolve convert`: writes an instance in another format."""

from __future__ import annotations

import argparse
from typing import Any

from hpcsolve.cli.options import add_command, on_rank_0, require_new
from hpcsolve.parallel.printing import show


def add(commands: Any) -> None:
    """Declare the command and its options."""
    parser = add_command(commands, "convert", _convert, "write an instance in another format")
    parser.add_argument("source", metavar="A", help="an instance in any format that jobs take")
    parser.add_argument("output", metavar="B", help="the file to write; its suffix says the format")
    parser.add_argument("--weight", metavar="NAME", help="the attribute or column of A with the weights of edges")
    text = "whether edges of A are arcs, as instance.directed of a job; false takes the lighter one of two directions"
    parser.add_argument("--directed", choices=("true", "false"), help=text)
    parser.add_argument("--overwrite", action="store_true", help="replace B if it exists")


def _convert(options: argparse.Namespace) -> int:
    def run() -> int:
        from hpcsolve.formats.convert import convert

        require_new(options)
        directed = None if options.directed is None else options.directed == "true"
        show(convert(options.source, options.output, options.weight, directed))
        return 0

    return on_rank_0(run)
