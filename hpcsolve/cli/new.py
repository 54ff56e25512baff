"""`hpcsolve new`: writes an example job with its data."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from hpcsolve.cli.options import add_command, on_rank_0
from hpcsolve.parallel.printing import show


def add(commands: Any) -> None:
    """Declare the command and its options."""
    parser = add_command(commands, "new", _new, "write an example job with its data; without NAME, list the examples")
    parser.add_argument("example", nargs="?", metavar="NAME", help="an example; by default all are listed")
    parser.add_argument("folder", nargs="?", default=".", metavar="FOLDER", help="folder to write into (default: here)")


def _new(options: argparse.Namespace) -> int:
    def new() -> int:
        from hpcsolve.job.examples import examples, write_example
        from hpcsolve.job.load import read_table
        from hpcsolve.sweep.axes import axes_of

        if options.example is None:
            known = examples()
            width = max(map(len, known))
            show("\n".join(f"{name:{width}}  {text}" for name, text in known.items()))
            return 0
        files = write_example(options.example, Path(options.folder))
        command = "sweep" if axes_of(*read_table(str(files[0]))) else "run"
        show(f"written: {', '.join(map(str, files))}\nnext:    hpcsolve {command} {shlex.quote(str(files[0]))}")
        return 0

    return on_rank_0(new)
