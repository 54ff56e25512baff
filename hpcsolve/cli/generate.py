"""`hpcsolve generate`: writes a random instance."""

from __future__ import annotations

import argparse
from typing import Any

from hpcsolve.cli.options import add_command, add_set, on_rank_0, require_new
from hpcsolve.errors import InputError
from hpcsolve.parallel.printing import show


def add(commands: Any) -> None:
    """Declare the command and its options."""
    parser = add_command(commands, "generate", _generate, "write a random instance")
    parser.add_argument("kind", metavar="KIND", help="uniform-tsp, road-graph, ...; docs/jobs.md lists all")
    parser.add_argument("--n", type=int, help="number of cities or vertices")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random numbers (default 1)")
    add_set(parser, "another key of the generator, such as clusters=5")
    text = "cities: TSPLIB, or .npy for a numpy matrix; graphs: DIMACS, .stp for SteinLib, .co for coordinates"
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help=text)
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it exists")


def _generate(options: argparse.Namespace) -> int:
    def generate() -> int:
        from hpcsolve.job.load import parsed_value
        from hpcsolve.runner.kinds import generated, kind, kind_of_generator

        require_new(options)
        keys = {key: value for key, value in (("n", options.n), ("seed", options.seed)) if value is not None}
        for key, equals, value in (item.partition("=") for item in options.set):
            if not equals or (key in keys and key != "seed"):
                raise InputError(f"--set {key}{equals}{value}: give each key once, as KEY=VALUE")
            keys[key] = parsed_value(value)
        name = kind_of_generator(options.kind)
        own, problem = kind(name), generated(name, options.kind, keys)
        own.write(problem, options.output)
        if options.output != "-":
            show(f"{options.output}: {problem.name}, {own.size(problem)} {own.size_unit}")
        return 0

    return on_rank_0(generate)
