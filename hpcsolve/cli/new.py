"""`hpcsolve new`: writes an example job with its data."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
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
        files = [str(path) for path in write_example(options.example, Path(options.folder))]
        table, text = read_table(files[0])
        steps = [f"sweep {shlex.quote(files[0])}"] if axes_of(table, text) else _steps(table, files)
        show(f"written: {', '.join(files)}")
        show("\n".join(f"{'next:' if step is steps[0] else '':8} hpcsolve {step}" for step in steps))
        return 0

    return on_rank_0(new)


def _steps(table: Mapping[str, Any], files: Sequence[str]) -> list[str]:
    """Return the commands from an example job to its pictures. One that says no more than its table needs no job."""
    output = shlex.quote(table["output"])
    plain = set(table) == {"algorithm", "instance", "output"} and files[-1].endswith(".csv")
    first, exported = ("solve", "trip.geojson") if plain else ("run", "answer.csv")
    return [f"{first} {shlex.quote(files[-1 if plain else 0])}", f"report {output} -o report.html",
            f"export {output} -o {exported}"]
