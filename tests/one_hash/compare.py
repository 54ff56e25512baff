"""Runs an instance in many ways: on 1 to 8 ranks, by each MPI, left alone, or stopped and resumed elsewhere."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.conftest import Mpi
from tests.one_hash.instances import Instance
from tests.one_hash.launchers import End, Start, run
from tests.slurm.scripts import solution_hash
from tests.stub_driver.build import Stub

STOPPED = 75
STOPS_AT_MOST = 3
"""Stops of a chain of runs, before the last one is left alone."""
WHEN = 0.05, 0.6
"""Shares of a run's time between which it is stopped."""

NOTHING_TO_KEEP = re.compile(r"^stopped: interrupted before the first round", re.M)
"""What a run says that has an answer, but was stopped before its first checkpoint."""


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
    """Return the starts of each MPI on CPUs, for each number of ranks, and one on stub GPUs."""
    return [*(Start(mpi, count) for mpi in mpis for count in ranks), *(Start(mpi, 2, stub) for mpi in mpis if stub)]


def chains_of(mpis: Sequence[Mpi], ranks: Sequence[int], stub: Stub | None, count: int, chance: random.Random
              ) -> list[list[Start]]:
    """Return chains of starts: 1 rank to 8 ranks, 8 to 3, CPU to GPU, GPU to CPU, and others at random."""
    first, last = mpis[0], mpis[-1]
    chains = [[Start(first, 1), Start(last, 8)], [Start(last, 8), Start(first, 3)]]
    if stub:
        chains += [[Start(first, 2), Start(last, 3, stub)], [Start(last, 2, stub), Start(first, 1)]]
    while len(chains) < count:
        legs = chance.sample(ranks, min(len(ranks), chance.randint(2, STOPS_AT_MOST + 1)))
        chains.append([Start(chance.choice(mpis), leg, chance.choice([None, stub])) for leg in legs])
    return chains[:count]
