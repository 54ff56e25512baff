"""`hpcsolve tree`: writes a Steiner tree as text, as `hpcsolve export` does with a file .pace."""

from __future__ import annotations

import argparse
from typing import Any

from hpcsolve.cli.options import add_command, on_rank_0, require_new


def add(commands: Any) -> None:
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
