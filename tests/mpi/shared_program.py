"""Program that test_shared.py starts to check that ranks of a host share large arrays.

The first argument is the number of hosts that MPI pretends to have, the second the scenario.
"""

import gc
import sys

import numpy as np

from hpcsolve.errors import InputError
from hpcsolve.parallel import mpi
from hpcsolve.parallel.launch import guard
from hpcsolve.parallel.mpi import MpiComm

HOSTS, SCENARIO = int(sys.argv[1]), sys.argv[2]
MIB = 2**20
KEPT = []


def main(comm):
    assert comm.local_rank == comm.rank // HOSTS  # MPICH assigns ranks to the pretended hosts in turn
    globals()[SCENARIO](comm)
    sys.stdout.write(f"rank {comm.rank} of {comm.size} ok\n")
    return 0


def values(comm):
    contents(comm)
    once(comm)
    refused(comm)


def contents(comm):
    """Check that successive broadcasts in any pieces are equal on all ranks and leave earlier values unchanged."""
    kept = []
    for piece, shared_from in [(1 << 30, 1 << 20), (1000, 5000), (777, 1), (1 << 30, 10**9)]:
        apart = MpiComm(piece, shared_from)
        for seed in range(3):
            expected = value_of(seed)
            kept.append((expected, apart.bcast(value_of(seed) if comm.rank == 0 else None), shared_from))
    for expected, got, shared_from in kept:
        compare(expected, got)
        shared = comm.size > HOSTS and got["large"].nbytes >= shared_from
        assert got["large"].flags.writeable != shared
        assert got["again"] is got["large"]
        if shared:
            assert got["large"].ctypes.data % 64 == 0


def value_of(seed):
    generator = np.random.default_rng(seed)
    large = generator.integers(0, 2**63, 200_001)
    return {"large": large, "again": large, "odd": large[:70_003].astype(np.uint8), "empty": large[:0], "seed": seed,
            "strided": np.arange(12.0).reshape(3, 4)[:, ::2], "text": "ü" * 10_000}


def compare(expected, got):
    assert expected.keys() == got.keys()
    for key, value in expected.items():
        assert np.array_equal(got[key], value) and type(got[key]) is type(value)
        assert not isinstance(value, np.ndarray) or (got[key].dtype, got[key].shape) == (value.dtype, value.shape)


def once(comm):
    """Check that `make` runs on the first rank of each host and that its value reaches that host's ranks alone."""
    calls = []

    def make():
        calls.append(comm.rank)
        return value_of(comm.rank)

    for _ in range(3):
        got = comm.once_per_host(make)
        compare(value_of(comm.rank % HOSTS), got)
        assert got["large"].flags.writeable == (comm.local_size == 1)
    assert calls == ([comm.rank] * 3 if comm.local_rank == 0 else [])
    assert comm.once_per_host(lambda: None) is None


def memory(comm):
    """Check that the ranks hold one copy per host, and none once the arrays are freed."""
    nbytes = 64 * MIB
    before = proportional(comm)
    got = comm.bcast(np.ones(nbytes, np.uint8) if comm.rank == 0 else None)
    assert int(got.sum(dtype=np.int64)) == nbytes
    assert 0.9 * HOSTS * nbytes < proportional(comm) - before < 1.3 * HOSTS * nbytes
    made = comm.once_per_host(lambda: np.ones(nbytes, np.uint8))
    assert int(made.sum(dtype=np.int64)) == nbytes
    assert 1.9 * HOSTS * nbytes < proportional(comm) - before < 2.3 * HOSTS * nbytes
    del got, made
    assert proportional(comm) - before < 0.3 * HOSTS * nbytes


def proportional(comm):
    """Return the bytes of memory that all ranks hold, counting shared memory once."""
    gc.collect()
    comm.barrier()
    with open("/proc/self/smaps_rollup") as file:
        mine = next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    return sum(comm.allgather(mine)) * 1024


def after_the_end(comm):
    """Keep a broadcast array, which must outlive MPI."""
    KEPT.append(comm.bcast(np.arange(10**6) if comm.rank == 0 else None))


def refused(comm):
    """Check that every rank gets its own copy where a host has no shared memory or a rank cannot map it."""
    functions = {"reserve_segment": 0, "map_for_reading": comm.size - 1}
    for name, rank in functions.items():
        real = getattr(mpi, name)
        if comm.rank == rank:
            setattr(mpi, name, no_memory)
        compare(value_of(1), comm.bcast(value_of(1) if comm.rank == 0 else None))
        compare(value_of(comm.rank % HOSTS), comm.once_per_host(lambda: value_of(comm.rank)))
        setattr(mpi, name, real)


def no_memory(_):
    raise OSError("no shared memory")


def wrong(comm):
    """Raise an `HpcsolveError` in `make` on one host, which must be raised on every rank."""
    comm.once_per_host(lambda: found_wrong("here") if comm.rank == HOSTS - 1 else 1)


def bug(comm):
    """Raise any other exception in `make`, which must end all ranks although most of them wait."""
    comm.once_per_host(lambda: {}["nothing"] if comm.rank == HOSTS - 1 else 1)


def write(comm):
    """Write to a shared array behind numpy's back, which must kill the rank and with it the run."""
    import ctypes

    got = comm.bcast(np.ones(MIB, np.uint8) if comm.rank == 0 else None)
    if comm.rank == comm.size - 1:
        ctypes.memset(got.ctypes.data, 0, 1)
    comm.barrier()


def found_wrong(what):
    raise InputError("found wrong", what, 7)


code = guard(main)
for array in KEPT:
    assert int(array.sum()) == 499999500000
sys.exit(code)
