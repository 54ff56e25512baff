"""Runs an instance in many ways: on 1 to 8 ranks, 1 to 3 threads, by each MPI, left alone, or stopped and resumed."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.seen import solution_hash
from tests.faults.conftest import Mpi
from tests.frame.source import REPOSITORY
from tests.one_hash.instances import Instance
from tests.stub_driver.build import Stub

STOPPED = 75
STOPS_AT_MOST = 3
"""Stops of a chain of runs, before the last one is left alone."""
WHEN = 0.05, 0.6
"""Shares of a run's time between which it is stopped."""
MORE_THREADS = 2, 3
"""Threads of the runs, or of ranks of them, that have not one."""

NOTHING_TO_KEEP = re.compile(r"^stopped: interrupted (before the first round|in the first bounds)", re.M)
"""What a run says that has an answer, but was stopped before its first checkpoint."""


SECONDS_AT_MOST = 300.0


@dataclass(frozen=True)
class Start:
    """How a run is started: by the launcher of an MPI library, on CPU cores, or on the stub driver if there is one."""

    mpi: Mpi
    ranks: int
    stub: Stub | None = None
    threads: int = 1

    def __str__(self) -> str:
        """Return the words for messages: "3 MPICH cpu", or "3 MPICH cpu x 2" with two threads on each rank."""
        return f"{self.ranks} {self.mpi.name} {self.device}" + (f" x {self.threads}" if self.threads > 1 else "")

    @property
    def device(self) -> str:
        """The name of the device."""
        return "cuda" if self.stub else "cpu"

    def environment(self) -> dict[str, str]:
        """Return the environment of the run. Waiting ranks and threads give way to working ones."""
        own = {"PYTHONPATH": str(REPOSITORY), "OMP_WAIT_POLICY": "passive", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
        return self.stub.environment(self.ranks, nvcc="single", **own) if self.stub else {**os.environ, **own}


@dataclass(frozen=True)
class End:
    """How a run ended: its exit code, all that it printed, and the seconds since it knew its memory."""

    code: int
    output: str
    seconds: float


def run(start: Start, folder: Path, stop_after: float | None = None) -> End:
    """Run `job.toml` in a folder, and send USR1 to the launcher some seconds after the run knows its memory."""
    words = ["-m", "hpcsolve", "run", "job.toml", "--device", start.device, "--set", f"threads={start.threads}",
             "--output", "out.h5"]
    command = start.mpi.command(start.ranks, *words)
    with subprocess.Popen(command, cwd=folder, env=start.environment(), stdin=subprocess.DEVNULL, bufsize=0,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        lines, began = _until_memory(process), time.monotonic()
        try:
            rest, _ = process.communicate(timeout=SECONDS_AT_MOST if stop_after is None else stop_after)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM if stop_after is None else signal.SIGUSR1)
            rest, _ = process.communicate(timeout=SECONDS_AT_MOST)
    return End(process.returncode, (lines + rest).decode(), time.monotonic() - began)


def _until_memory(process: subprocess.Popen[bytes]) -> bytes:
    """Return what a run prints until the line after which it solves, or all if it ends before.

    The pipe must not be buffered, else what follows at once would be read here, and lost.
    """
    assert process.stdout is not None
    lines = b""
    for line in process.stdout:
        lines += line
        if line.startswith(b"memory:"):
            break
    return lines


class Differs(Exception):
    """A run failed, or its answer is another one."""


@dataclass
class Seen:
    """What was seen of an instance.

    Attributes
    ----------
    hashes
        The SHA-256 of `/solution` of each finished run, by how it was made.
    stops
        How often runs were stopped.
    took
        The seconds after its start-up of a run that was left alone.
    began
        When the comparison began.
    """

    hashes: dict[str, str] = field(default_factory=dict)
    stops: int = 0
    took: dict[Start, float] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def row(self, name: str) -> str:
        """Return the instance's row of the table."""
        found = sorted(set(self.hashes.values()))
        return (f"{name:<22} {len(self.hashes):4} {self.stops:5} {time.monotonic() - self.began:7.0f}  "
                f"{found[0][:16] if len(found) == 1 else f'{len(found)} HASHES'}")


TITLE = f"{'instance':<22} {'ends':>4} {'stops':>5} {'seconds':>7}  SHA-256 of /solution"


def compare(instance: Instance, folder: Path, data: Path | None, left_alone: Iterable[Start],
            chains: Sequence[Sequence[Start]], chance: random.Random) -> Seen:
    """Run an instance in all these ways, and return what was seen.

    Parameters
    ----------
    left_alone
        The first of them is the one whose answer counts.
    chains
        Each is begun as its first element says, stopped at a random moment, resumed as its second says, and so on; the
        last one is left alone.

    Raises
    ------
    Differs
        A run failed.
    """
    folder.mkdir()
    (folder / "job.toml").write_text(instance.job(data))
    seen = Seen()
    for start in left_alone:
        ended = _checked(start, run(start, folder), (0,))
        seen.took[start] = ended.seconds
        _note(seen, str(start), folder)
    for chain in chains if instance.keeps else ():
        _follow(chain, folder, seen, chance)
    return seen


def _follow(chain: Sequence[Start], folder: Path, seen: Seen, chance: random.Random) -> None:
    kept = False
    for start in chain[:-1]:
        like = seen.took.get(start) or max(seen.took.values())
        before = _checked(start, run(start, folder, like * chance.uniform(*WHEN)), (0, STOPPED))
        if before.code == 0:  # it was done before the signal came
            break
        seen.stops += 1
        kept = any(folder.glob("*.checkpoint/*.manifest"))
        if not kept and not NOTHING_TO_KEEP.search(before.output):
            raise Differs(f"{start} kept no checkpoint:\n{before.output}")
    else:
        ended = _checked(chain[-1], run(chain[-1], folder), (0,))
        if kept and "resume:" not in ended.output:
            raise Differs(f"{chain[-1]} did not go on from a checkpoint:\n{before.output}\n{ended.output}")
    _note(seen, " -> ".join(map(str, chain)), folder)


def _checked(start: Start, ended: End, codes: tuple[int, ...]) -> End:
    if ended.code not in codes:
        raise Differs(f"{start} ended with exit code {ended.code}:\n{ended.output}")
    return ended


def _note(seen: Seen, how: str, folder: Path) -> None:
    seen.hashes[how] = solution_hash(folder / "out.h5")
    (folder / "out.h5").unlink()
    left = sorted(path.name for path in folder.iterdir())
    if left != ["job.toml"]:
        raise Differs(f"{how} left {left}")


def all_ranks(mpis: Sequence[Mpi], ranks: Sequence[int], stub: Stub | None) -> list[Start]:
    """Return the starts of each MPI on CPUs, for each number of ranks, with more threads, and one on stub GPUs."""
    return [*(Start(mpi, count) for mpi in mpis for count in ranks), *(Start(mpi, 2, stub) for mpi in mpis if stub),
            *(Start(mpi, 1, threads=count) for mpi, count in zip((mpis[0], mpis[-1]), MORE_THREADS))]


def chains_of(mpis: Sequence[Mpi], ranks: Sequence[int], stub: Stub | None, count: int, chance: random.Random
              ) -> list[list[Start]]:
    """Return chains of starts: 1 rank to the most, these to 3, CPU to GPU, GPU to CPU, and others at random."""
    first, last, most = mpis[0], mpis[-1], max(ranks)
    chains = [[Start(first, 1, threads=3), Start(last, most)],
              [Start(last, most), Start(first, min(3, most), threads=2)]]
    if stub:
        chains += [[Start(first, 2), Start(last, 3, stub)], [Start(last, 2, stub), Start(first, 1)]]
    while len(chains) < count:
        legs = chance.sample(ranks, min(len(ranks), chance.randint(2, STOPS_AT_MOST + 1)))
        chains.append([Start(chance.choice(mpis), leg, chance.choice([None, stub]), chance.choice([1, *MORE_THREADS]))
                       for leg in legs])
    return chains[:count]
