"""Runs that are stopped and resumed on other ranks, by another MPI or on stub GPUs give one hash: a short form.

The long form, with 1 to 8 ranks and published instances, is `make test-equal`.
"""

import random

import pytest

from tests.faults.conftest import mpis
from tests.one_hash.compare import Start, compare
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
