"""Program that test_comm.py starts on any number of ranks. It checks every member of the communicator."""

import sys

import numpy as np

from hpcsolve.parallel.comm import wait_until
from hpcsolve.parallel.launch import guard
from hpcsolve.parallel.mpi import MpiComm


def main(comm):
    world = range(comm.size)
    assert comm.rank in world
    assert (comm.local_rank, comm.local_size) == (comm.rank, comm.size)  # one host
    assert comm.allgather((comm.rank, "ü")) == [(rank, "ü") for rank in world]
    gathered = comm.gather(comm.rank**2)
    assert gathered == ([rank**2 for rank in world] if comm.rank == 0 else None)
    comm.barrier()
    broadcasts(comm)
    if comm.size > 1:
        for piece in (1 << 30, 64, 7):
            ring(MpiComm(piece))
            again(MpiComm(piece))
        wrong_length(comm)
    sys.stdout.write(f"rank {comm.rank} of {comm.size} ok\n")
    return 0


def broadcasts(comm):
    """Check broadcasts of objects, None, large arrays in pieces, and empty and strided arrays."""
    value = {"a": [1, None], "matrix": np.arange(12.0).reshape(3, 4)[:, ::2], "empty": np.empty(0, np.int16)}
    for small in (comm, MpiComm(100)) if comm.size > 1 else (comm,):
        got = small.bcast(value if comm.rank == 0 else None)
        assert got["a"] == [1, None]
        assert got["empty"].dtype == np.int16
        assert got["empty"].size == 0
        assert np.array_equal(got["matrix"], value["matrix"])
    small = np.arange(1000)
    got = comm.bcast(small if comm.rank == 0 else None)
    assert got.dtype == small.dtype
    assert np.array_equal(got, small)
    got[0] = -1  # small arrays are writable after a broadcast; for large ones see shared_program.py
    assert comm.bcast(None) is None


def ring(comm):
    """Check that several messages sent at once to the next rank arrive in the order in which they were sent."""
    to, source = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    shapes = [(0,), (1,), (3, 5), (1000,), (0,), (17,)]
    out = [np.full(shape, comm.rank * 10 + i, dtype) for i, (shape, dtype) in enumerate(zip(shapes, "Hiqdbf"))]
    into = [np.full_like(array, 77) for array in out]
    requests = [comm.receive(array, source) for array in into] + [comm.send(array, to) for array in out]
    for request in requests:
        request.wait()
    for i, array in enumerate(into):
        assert np.array_equal(array, np.full_like(array, source * 10 + i))


def again(comm):
    """Check that a prepared message brings what its memory holds each time, also from an address, and by its tag."""
    to, source = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    out, into = np.zeros((2, 1000), np.int32), np.zeros((2, 1000), np.int32)
    sends = [comm.message(out[tag], to, True, tag) for tag in range(2)]
    receives = [comm.message(into[0], source, False, 0),
                comm.message((into[1].ctypes.data, into[1].nbytes), source, False, 1)]
    for turn in range(3):
        out[0], out[1] = 10 * turn + comm.rank, -turn
        messages = [*reversed(receives), *sends]
        for message in messages:
            message.start()
        wait_until(lambda: all(message.done() for message in messages))  # noqa: B023
        assert (into[0] == 10 * turn + source).all() and (into[1] == -turn).all()
    for message in (*sends, *receives):
        message.free()


def wrong_length(comm):
    """Check that a message shorter than the receiving array, and a strided array, raise errors."""
    if comm.rank == 0:
        comm.send(np.zeros(3, np.int32), 1).wait()
        try:
            comm.send(np.zeros((4, 4))[:, 1], 1)
        except ValueError as error:
            assert "contiguous" in str(error)
        else:
            raise AssertionError("a strided array was sent")
    if comm.rank == 1:
        try:
            comm.receive(np.zeros(4, np.int32), 0).wait()
        except RuntimeError as error:
            assert "received a message of 12 bytes instead of 16" in str(error)
        else:
            raise AssertionError("a short message went unnoticed")


sys.exit(guard(main))
