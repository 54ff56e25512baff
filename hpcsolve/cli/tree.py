"""`hpcsolve tree`: writes a Steiner tree as text."""

from __future__ import annotations

import argparse
from typing import Any

from hpcsolve.cli.options import add_command, on_rank_0, require_new
from hpcsolve.errors import InputError


def add(commands: Any) -> None:
    """Declare the command and its options."""
    text = "write the Steiner tree of a result in the format of the PACE challenge: its weight, then its edges"
    parser = add_command(commands, "tree", _tree, text)
    parser.add_argument("result", metavar="RESULT.h5")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="by default standard output")
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it exists")


def _tree(options: argparse.Namespace) -> int:
    def tree() -> int:
        from hpcsolve.analysis.load import load
        from hpcsolve.answers.tree import TREE
        from hpcsolve.formats import write_steiner_solution
        from hpcsolve.output.schema import require_whole

        require_new(options)
        found = load(options.result)
        if (answer := require_whole(found.contents, options.result)) is not TREE:
            raise InputError(f"its answer is of kind {answer.name}, not a Steiner tree", options.result)
        write_steiner_solution(found.cost, found.tree, options.output)
        return 0

    return on_rank_0(tree)
