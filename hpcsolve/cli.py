"""The command line, with one short function for each command.

`--help` must answer at once, so numpy, h5py, msgspec and MPI are imported inside the commands.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import hpcsolve
from hpcsolve.errors import HpcsolveError, InputError, agree
from hpcsolve.parallel.printing import show, warn

if TYPE_CHECKING:
    from hpcsolve.output.log import Log
    from hpcsolve.parallel.comm import Comm

INTERRUPTED = 130
"""Exit code after Ctrl-C, the one that shells use."""

EPILOG = """\
examples:
  hpcsolve run jobs/eu-capitals.toml                      one rank, on a GPU if there is one
  mpiexec -n 2 hpcsolve run job.toml --device cpu         two ranks on CPU cores
  hpcsolve run job.toml --set held-karp.path=open         another value for this run
  hpcsolve estimate job.toml -n 8 --memory 80G            will it fit, how long will it take?
  hpcsolve verify results/eu-capitals.h5                  check the answer again

exit codes: 0 solved and verified, 1 the check of the answer failed, 2 bad input or usage, 3 refused: memory or GPUs,
4 environment: MPI, compiler, disk, 5 a damaged file, 70 a bug in hpcsolve, 130 interrupted (Ctrl-C)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name and return its exit code."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except KeyboardInterrupt:  # before the ranks have joined; afterwards `guard` handles it
        warn("hpcsolve: interrupted")
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hpcsolve", description=hpcsolve.__doc__, epilog=EPILOG, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"hpcsolve {hpcsolve.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in (_add_run, _add_estimate, _add_verify, _add_tree, _add_info, _add_generate):
        add(commands)
    return parser


def _add(commands: Any, name: str, command: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    parser.set_defaults(command=command)
    return parser


def _add_job(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB.toml", help="a job file, or a result file whose job is run again")
    _add_set(parser, "set a key of the job to another value; may be repeated")
    parser.add_argument("--device", help="auto, cpu, cuda, cuda:1 or a GPU's UUID")


def _add_set(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=text)


def _add_run(commands: Any) -> None:
    parser = _add(commands, "run", _run, "solve a job, alone or on the ranks that mpiexec or srun starts")
    _add_job(parser)
    parser.add_argument("--output", metavar="FILE", help="the result file")
    parser.add_argument("--overwrite", action="store_true", help="replace the output if it exists")
    parser.add_argument("--quiet", action="store_true", help="print only the answer")
    parser.add_argument("--log-dir", metavar="FOLDER", help="write one log file for each rank into this folder")


def _add_estimate(commands: Any) -> None:
    parser = _add(commands, "estimate", _estimate, "print the memory, the work and the time that a job would take")
    _add_job(parser)
    parser.add_argument("-n", "--ranks", type=_at_least_one, default=1, help="number of ranks (default 1)")
    text = "memory for each rank, such as 80G (default: what this machine has)"
    parser.add_argument("--memory", type=_memory, metavar="SIZE", help=text)


def _add_verify(commands: Any) -> None:
    parser = _add(commands, "verify", _verify, "check the answer in a result file, in plain numpy")
    parser.add_argument("result", metavar="RESULT.h5")
    parser.add_argument("--instance", metavar="FILE", help="the instance, if its file has moved")


def _add_tree(commands: Any) -> None:
    text = "write the Steiner tree of a result in the format of the PACE challenge: its weight, then its edges"
    parser = _add(commands, "tree", _tree, text)
    parser.add_argument("result", metavar="RESULT.h5")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="by default standard output")
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it exists")


def _add_info(commands: Any) -> None:
    text = "print versions, MPI, compilers, devices and problems with them; under mpiexec a line for each rank"
    _add(commands, "info", _info, text)


def _add_generate(commands: Any) -> None:
    parser = _add(commands, "generate", _generate, "write a random instance")
    parser.add_argument("kind", metavar="KIND", help="uniform-tsp, road-graph, ...; docs/jobs.md lists all")
    parser.add_argument("--n", type=int, help="number of cities or vertices")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random numbers (default 1)")
    _add_set(parser, "another key of the generator, such as clusters=5")
    text = "cities: TSPLIB, or .npy for a numpy matrix; graphs: DIMACS, .stp for SteinLib, .co for coordinates"
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help=text)
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it exists")


def _run(options: argparse.Namespace) -> int:
    from hpcsolve.parallel.launch import guard

    seconds_build: list[float] = []

    def prepare() -> None:
        from hpcsolve.runner.ahead import build_ahead

        seconds_build.append(build_ahead(options.job, options.set, options.device))

    def run(comm: Comm) -> int:
        from hpcsolve.runner.run import run_job

        log = _open_log(comm, options)
        return run_job(comm, lambda: _planned(options), log, sum(seconds_build)).exit_code

    return guard(run, prepare)


def _planned(options: argparse.Namespace) -> Any:
    from hpcsolve.job.load import load_job
    from hpcsolve.runner.planned import plan_run

    job = load_job(options.job, options.set, output=options.output, device=options.device)
    return plan_run(job, options.overwrite)


def _open_log(comm: Comm, options: argparse.Namespace) -> Log:
    from hpcsolve.output.log import Log

    log, fault = Log(comm.rank, options.quiet), None
    try:
        log = Log(comm.rank, options.quiet, options.log_dir)
    except HpcsolveError as error:
        fault = error
    agree(comm, fault)
    return log


def _on_rank_0(command: Callable[[], int], prepare: Callable[[], object] | None = None) -> int:
    """Run a command that needs no other rank on rank 0, also if it was started under mpiexec."""
    from hpcsolve.parallel.launch import guard, on_rank_0

    return guard(lambda comm: on_rank_0(comm, command), prepare)


def _estimate(options: argparse.Namespace) -> int:
    def estimate() -> int:
        from hpcsolve.errors import ResourceError
        from hpcsolve.job.load import load_job
        from hpcsolve.runner.forecast import forecast
        from hpcsolve.runner.kinds import read_instance

        job = load_job(options.job, options.set, device=options.device)
        found = forecast(job, read_instance(job), options.ranks, options.memory)
        show("\n".join(found.lines()))
        if options.memory is not None and not found.fits:
            raise ResourceError("the job does not fit the memory; see above")
        return 0

    def prepare() -> None:
        from hpcsolve.runner.ahead import build_ahead

        build_ahead(options.job, options.set, options.device)

    return _on_rank_0(estimate, prepare)


def _verify(options: argparse.Namespace) -> int:
    def verify() -> int:
        from hpcsolve.output.schema import require_whole
        from hpcsolve.runner.verify import verify_file

        contents, verdict = verify_file(options.result, options.instance)
        show("\n".join([*require_whole(contents, options.result).lines(contents), f"check:  {verdict}"]))
        return 1 if verdict.passed is False else 0

    return _on_rank_0(verify)


def _tree(options: argparse.Namespace) -> int:
    def tree() -> int:
        from hpcsolve.analysis.load import load
        from hpcsolve.formats import write_steiner_solution

        _require_new(options)
        found = load(options.result)
        write_steiner_solution(found.cost, found.tree, options.output)
        return 0

    return _on_rank_0(tree)


def _require_new(options: argparse.Namespace) -> None:
    if os.path.exists(options.output) and not options.overwrite:
        raise InputError(f"{options.output}: the file exists; choose another one, or replace it with --overwrite")


def _info(_: argparse.Namespace) -> int:
    from hpcsolve.parallel.launch import guard
    from hpcsolve.runner.info import compilers, general_lines, problem_lines, rank_line

    found: list[str] = []

    def info(comm: Comm) -> int:
        lines = comm.gather(rank_line(comm.rank, comm.size))
        if lines is not None:
            show("\n".join([*general_lines(comm.mpi_library), *found, *lines, *problem_lines(found)]))
        return 0

    return guard(info, lambda: found.extend(compilers()))


def _generate(options: argparse.Namespace) -> int:
    def generate() -> int:
        from hpcsolve.job.load import parsed_value
        from hpcsolve.runner.kinds import generated, kind, kind_of_generator

        _require_new(options)
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

    return _on_rank_0(generate)


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("it must be at least 1")
    return number


def _memory(text: str) -> int:
    from hpcsolve.runner.forecast import parsed_size

    try:
        return parsed_size(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 80G") from None


if __name__ == "__main__":
    sys.exit(main())
