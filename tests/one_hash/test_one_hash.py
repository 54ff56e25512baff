"""Runs that are stopped and resumed on other ranks, by another MPI or on stub GPUs give one hash: a short form.

The long form, with 1 to 8 ranks and published instances, is `make test-equal`.
"""

import random
import sys

import pytest

from tests.faults.conftest import Mpi, mpis
from tests.one_hash.compare import Start, all_ranks, chains_of, compare, run
from tests.one_hash.instances import INSTANCES, SMALL

__all__ = ["mpis"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "ranks"), list(zip(SMALL, [(1, 8, 3), (2, 1)], strict=True)))
def test_one_hash(name, ranks, mpis, stub, tmp_path):
    """Left alone on one rank, and stopped and resumed: 1 rank, 8 and 3, and two ranks on CPUs, then one on a GPU."""
    if not mpis:
        pytest.skip("no mpiexec: pip install mpich (extra `local`)")
    instance = next(one for one in INSTANCES if one.name == name)
    first, last = (list(mpis.values())[at] for at in (0, -1))
    on_gpu = stub if name == SMALL[-1] else None
    chain = [*(Start(first, count) for count in ranks[:-1]), Start(last, ranks[-1], on_gpu)]
    seen = compare(instance, tmp_path / "runs", None, [Start(first, 1)], [chain], random.Random(name))
    assert len(seen.hashes) == 2 and len(set(seen.hashes.values())) == 1, seen.hashes
    assert seen.stops > 0, "it was done before it could be stopped"


def test_what_a_run_prints_at_once_is_seen(tmp_path):
    """Lines behind the one that says the memory, in the same piece of the pipe, are not lost."""

    class Prints(Mpi):
        def command(self, count, *words):
            return [sys.executable, "-c", "print('memory: 1 MiB\\nresume: from here', flush=True)"]

    ended = run(Start(Prints("a launcher", tmp_path, sys.executable), 1), tmp_path)
    assert ended.code == 0 and ended.output == "memory: 1 MiB\nresume: from here\n"


def test_ways_to_run(stub, tmp_path):
    """All asked numbers of ranks, 1 to 3 threads, both libraries and both devices are there."""
    both = [Mpi(name, tmp_path, sys.executable) for name in ("one", "other")]
    alone = all_ranks(both, [1, 2, 5], stub)
    assert {(start.mpi.name, start.ranks) for start in alone} >= {(a, b) for a in ("one", "other") for b in (1, 2, 5)}
    assert {start.threads for start in alone} == {1, 2, 3} and len({str(start) for start in alone}) == len(alone)
    chains = chains_of(both, [1, 2, 5], stub, 9, random.Random(1))
    legs = [start for chain in chains for start in chain]
    assert len(chains) == 9 and max(start.ranks for start in legs) == 5
    assert {start.threads for start in legs} == {1, 2, 3} and {start.mpi.name for start in legs} == {"one", "other"}
    assert not stub or {start.device for start in legs} == {"cpu", "cuda"}
