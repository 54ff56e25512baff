"""The commands that write instances: `hpcsolve new` an example with its data, `generate` a random one, `convert`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hpcsolve.cli.options import add_command, add_output, add_set, require_new
from hpcsolve.errors import InputError
from hpcsolve.wording import show


def add_new(commands: Any) -> None:
    """Declare `hpcsolve new`, which writes an example job with its data."""
    text = "write an example job with its data; without NAME, list the examples"
    parser = add_command(commands, "new", _new, text, alone=True)
    parser.add_argument("example", nargs="?", metavar="NAME", help="an example; by default all are listed")
    parser.add_argument("folder", nargs="?", default=".", metavar="FOLDER", help="folder to write into (default: here)")


def _new(options: argparse.Namespace) -> int:
    from hpcsolve.job import read_table
    from hpcsolve.job.examples import examples, write_example
    from hpcsolve.sweep import axes_of

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


def add_generate(commands: Any) -> None:
    """Declare `hpcsolve generate`, which writes a random instance."""
    parser = add_command(commands, "generate", _generate, "write a random instance", alone=True)
    parser.add_argument("kind", metavar="KIND", help="uniform-tsp, road-graph, ...; docs/jobs.md lists all")
    parser.add_argument("--n", type=int, help="number of cities or vertices")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random numbers (default 1)")
    add_set(parser, "another key of the generator, such as clusters=5")
    text = "cities: TSPLIB, or .npy for a numpy matrix; graphs: DIMACS, .stp for SteinLib, .co for coordinates"
    add_output(parser, text)


def _generate(options: argparse.Namespace) -> int:
    from hpcsolve.job import parsed_value
    from hpcsolve.runner.kinds import KINDS
    from hpcsolve.runner.reading import generated, kind_of_generator

    require_new(options)
    keys = {key: value for key, value in (("n", options.n), ("seed", options.seed)) if value is not None}
    for key, equals, value in (item.partition("=") for item in options.set):
        if not equals or (key in keys and key != "seed"):
            raise InputError(f"--set {key}{equals}{value}: give each key once, as KEY=VALUE")
        keys[key] = parsed_value(value)
    name = kind_of_generator(options.kind)
    own, problem = KINDS[name], generated(name, options.kind, keys)
    own.write(problem, options.output)
    if options.output != "-":
        show(f"{options.output}: {problem.name}, {own.size(problem)} {own.size_unit}")
    return 0


def add_convert(commands: Any) -> None:
    """Declare `hpcsolve convert`, which writes an instance in another format."""
    parser = add_command(commands, "convert", _convert, "write an instance in another format", alone=True)
    parser.add_argument("source", metavar="A", help="an instance in any format that jobs take")
    parser.add_argument("output", metavar="B", help="the file to write; its suffix says the format")
    parser.add_argument("--weight", metavar="NAME", help="the attribute or column of A with the weights of edges")
    text = "whether edges of A are arcs, as instance.directed of a job; false takes the lighter one of two directions"
    parser.add_argument("--directed", choices=("true", "false"), help=text)
    parser.add_argument("--overwrite", action="store_true", help="replace B if it exists")


def _convert(options: argparse.Namespace) -> int:
    from hpcsolve.formats.convert import convert

    require_new(options)
    directed = None if options.directed is None else options.directed == "true"
    show(convert(options.source, options.output, options.weight, directed))
    return 0
