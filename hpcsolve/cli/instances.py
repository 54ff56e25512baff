"""The commands that write instances: `hpcsolve new` an example with its data, `generate` a random one, `convert`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hpcsolve.errors import InputError
from hpcsolve.formats.convert import convert
from hpcsolve.job import parsed_value, read_table
from hpcsolve.job.examples import examples, write_example
from hpcsolve.problems.generate import generate
from hpcsolve.runner.kinds import KINDS
from hpcsolve.runner.reading import kind_of_generator
from hpcsolve.sweep import axes_of
from hpcsolve.wording import counted, show


def do_new(options: argparse.Namespace) -> int:
    """Write an example job with its data, or list the examples."""
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


def _steps(table: Mapping[str, Any], files: Sequence[str]) -> list[str]:
    """Return the commands from an example job to its pictures. One that says no more than its table needs no job."""
    output = shlex.quote(table["output"])
    plain = set(table) == {"algorithm", "instance", "output"} and files[-1].endswith(".csv")
    first, exported = ("solve", "trip.geojson") if plain else ("run", "answer.csv")
    return [f"{first} {shlex.quote(files[-1 if plain else 0])}", f"report {output} -o report.html",
            f"export {output} -o {exported}"]


def do_generate(options: argparse.Namespace) -> int:
    """Write a random instance."""
    keys = {key: value for key, value in (("n", options.n), ("seed", options.seed)) if value is not None}
    for key, equals, value in (item.partition("=") for item in options.set):
        if not equals or (key in keys and key != "seed"):
            raise InputError(f"--set {key}{equals}{value}: give each key once, as KEY=VALUE")
        keys[key] = parsed_value(value)
    name = kind_of_generator(options.kind)
    own, problem = KINDS[name], generate(name, options.kind, **keys)
    own.write(problem, options.output)
    if options.output != "-":
        show(f"{options.output}: {problem.name}, {counted(own.size(problem), own.size_noun)}")
    return 0


def do_convert(options: argparse.Namespace) -> int:
    """Write an instance in another format."""
    directed = None if options.directed is None else options.directed == "true"
    show(convert(options.source, options.output, options.weight, directed))
    return 0
