"""Tries damaged files on every reader, and prints what became of them. `make fuzz` is the long form:

    python -m tests.fuzz.program --count 10000 --guided 1000000 --processes 2

Each reader works in processes of its own, so that one that dies is seen. Of its inputs, those that fail are kept.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.formats.samples import Sample
from tests.fuzz.guided import guided
from tests.fuzz.judge import cpu_seconds, outcome
from tests.fuzz.targets import Target, targets

HANGS = 30
"""Seconds after which a reader is interrupted."""
MEMORY = 512 * 2**20
"""Bytes that a reader may take beside what the process has already."""
CHUNK = 1000
"""Inputs of a process."""


@dataclass
class Tally:
    """What became of inputs: outcomes with counts, the slowest one's seconds, and files for each kind of failure."""

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    failures: dict[str, list[Path]] = field(default_factory=dict)

    def __add__(self, other: Tally) -> Tally:
        """Return the sum."""
        names = [*self.failures, *(name for name in other.failures if name not in self.failures)]
        failures = {name: [*self.failures.get(name, []), *other.failures.get(name, [])] for name in names}
        return Tally(self.outcomes + other.outcomes, max(self.slowest, other.slowest), failures)

    @property
    def row(self) -> tuple[Any, ...]:
        """The columns of the table behind the reader's name."""
        counts = self.outcomes
        inputs = sum(counts.values())
        return (inputs, counts["read"], inputs - counts["read"] - counts["failed"] - counts["died"], counts["failed"],
                counts["died"], f"{self.slowest:.3f}")


TITLES = ("reader", "inputs", "read", "refused in one line", "failed", "crashed", "slowest s")


def inputs(target: Target, seed: int, numbers: range) -> Iterator[tuple[int, Sample, bytes]]:
    """Yield number, sample and content of damaged files, each of which depends on its number alone."""
    for number in numbers:
        chance = random.Random(f"{seed} {target.name} {number}")
        sample = target.seeds[number % len(target.seeds)]
        yield number, sample, target.mutate(sample.content, chance)


def try_numbers(target: Target, seed: int, numbers: range, folder: Path, kept: Path) -> Tally:
    """Return what becomes of inputs in this process."""
    tally = Tally()
    signal.signal(signal.SIGALRM, _hangs)
    for number, sample, content in inputs(target, seed, numbers):
        signal.alarm(HANGS)
        begin = cpu_seconds()
        try:
            result = required(outcome(sample, folder, content))
        except Exception as error:  # noqa: BLE001 (what is not expected is what we look for)
            result = "failed"
            file = keep(kept, target, sample, number, content)
            tally.failures.setdefault(f"{target.name}: {place(error, folder)}", []).append(file)
        finally:
            signal.alarm(0)
        tally.slowest = max(tally.slowest, cpu_seconds() - begin)
        tally.outcomes[result] += 1
    return tally


def required(result: str) -> str:
    """Return an outcome, or fail if a file was refused without its line."""
    assert not result.startswith("refused: "), f"no line is named: {result[9:]}"
    return result


def place(error: Exception, folder: Path) -> str:
    """Return what was raised and where, without what differs between inputs."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    message = re.sub(r"\d+", "N", str(error).replace(str(folder), ""))[:150]
    return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {message!r}"


def keep(kept: Path, target: Target, sample: Sample, number: int, content: bytes) -> Path:
    """Write an input that failed, and return its path."""
    path = kept / target.name.replace(" ", "-") / f"{number}-{Path(sample.file).name}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def _hangs(number: int, frame: Any) -> None:
    raise TimeoutError(f"no end after {HANGS} s")


def in_process(target: Target, seed: int, numbers: range, kept: Path) -> Tally:
    """Return what becomes of inputs in a process of its own. An input that kills it is kept and counted."""
    context, done = multiprocessing.get_context("fork"), Tally()
    while numbers:
        with tempfile.TemporaryDirectory(dir=_memory_folder()) as folder:
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=_child, args=(there, target, seed, numbers, Path(folder), kept))
            process.start()
            there.close()
            at = numbers.start
            with suppress(EOFError):
                while at < numbers.stop:
                    done, at = done + here.recv(), at + 1
            process.join()
        if at < numbers.stop:
            number, sample, content = next(inputs(target, seed, range(at, at + 1)))
            failure = f"{target.name}: the process died with exit code {process.exitcode}"
            done += Tally(Counter({"died": 1}), 0.0, {failure: [keep(kept, target, sample, number, content)]})
        numbers = range(at + 1, numbers.stop)
    return done


def _child(pipe: Any, target: Target, seed: int, numbers: range, folder: Path, kept: Path) -> None:
    """Send what becomes of each input."""
    limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in numbers:
        pipe.send(try_numbers(target, seed, range(number, number + 1), folder, kept))


def _memory_folder() -> str | None:
    """Return a folder in memory, where there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def table(rows: list[tuple[Any, ...]]) -> str:
    """Return rows as aligned columns."""
    texts = [list(map(str, row)) for row in rows]
    widths = [max(len(text[column]) for text in texts) for column in range(len(texts[0]))]
    return "\n".join("  ".join([text[0].ljust(widths[0]), *map(str.rjust, text[1:], widths[1:])]) for text in texts)


def tried(found: list[Target], options: argparse.Namespace, kept: Path) -> dict[str, Tally]:
    """Return what becomes of damaged files, by the reader's name."""
    work = [(target, range(at, min(at + CHUNK, options.count)))
            for target in found for at in range(0, options.count, CHUNK)]
    with ThreadPoolExecutor(options.processes) as pool:
        tallies = pool.map(lambda one: in_process(one[0], options.seed, one[1], kept), work)
        sums: dict[str, Tally] = {target.name: Tally() for target in found}
        for (target, _), tally in zip(work, tallies, strict=True):
            sums[target.name] += tally
            print(f"\r{target.name}: {sum(sums[target.name].outcomes.values())}", end="", file=sys.stderr, flush=True)
    print("\r", end="", file=sys.stderr)
    return sums


def main() -> int:
    """Try damaged files, print a table and the failures, and return 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="damaged files of each reader")
    parser.add_argument("--guided", type=int, default=0, help="runs guided by coverage over all readers (atheris)")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", help="names of readers")
    options = parser.parse_args()
    kept = Path(tempfile.mkdtemp(prefix="fuzz-"))
    begin = time.monotonic()
    (kept / "jobs").mkdir()
    known = {target.name: target for target in targets(kept / "jobs")}
    if unknown := set(options.only or []) - set(known):
        parser.error(f"no reader is named {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    found = [known[name] for name in options.only or known]
    sums = tried(found, options, kept)
    whole = sum(sums.values(), Tally())
    if options.count:
        print(table([TITLES, *((name, *tally.row) for name, tally in sums.items()), ("all", *whole.row)]), flush=True)
    failures = whole.failures
    if options.guided:
        if importlib.util.find_spec("atheris") is None:
            print("coverage-guided runs: SKIPPED, since atheris is not installed")
        else:
            more, done = guided(found, options.guided, options.processes, kept)
            failures |= more
            print(f"coverage-guided runs: {done}")
    for failure, files in failures.items():
        print(f"{len(files)} times {failure}: {files[0]}")
    count = sum(map(len, failures.values()))
    print(f"{count} failures, {time.monotonic() - begin:.0f} s, seed {options.seed}, inputs that failed are in {kept}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
