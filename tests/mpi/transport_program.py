"""Program that test_transport.py starts on several stub GPUs: half runs of Held-Karp by each way of messages.

Rank 0 prints for each way the SHA-256 of the middle layers of both half runs. Every rank checks the driver's calls, of
which the stub driver has written a line each to a file: no wait for a stream between the launches of a half run, at
most one copy for each other rank in a step, and as many bytes as planned.
"""

from __future__ import annotations

import hashlib
import math
import os
import sys
import time
from itertools import count, cycle, pairwise
from pathlib import Path
from unittest import mock

import numpy as np

from hpcsolve.algorithms import held_karp
from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.held_karp.lattice import planes, split
from hpcsolve.algorithms.held_karp.lattice.reduce import ReducedCosts
from hpcsolve.algorithms.held_karp.lattice.split import Pace, Share, Split
from hpcsolve.algorithms.held_karp.outcome import Statistics
from hpcsolve.checkpoint.checkpoints import Checkpoints, Writer
from hpcsolve.checkpoint.checkpoints import Pace as Pacing
from hpcsolve.checkpoint.saved import newest
from hpcsolve.checkpoint.store import take_lease
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.device.select import open_device
from hpcsolve.errors import Stopped
from hpcsolve.parallel.comm import Comm, SerialComm
from hpcsolve.parallel.launch import guard
from hpcsolve.problems.generate.tsp import random_matrix
from hpcsolve.wording import show

SPLIT = Split(5, 7, 4)
WAYS = ("staged", "shared", "peer", "mpi")
HOST = ("staged", "shared")
"""Ways through the host's memory."""
PACES = {"cpu": Pace(16, 1, 2), "cuda": Pace(16, 1, 4)}


def problem() -> ReducedCosts:
    """Return random costs of a problem of this split."""
    cost = np.random.default_rng(5).integers(0, 1000, (SPLIT.cities + 1, SPLIT.cities + 1))
    return ReducedCosts(cost, 2, 1, 0, True, None)


def middle_layers(device: Device, comm: Comm) -> str:
    """Return on rank 0 the SHA-256 of all planes of the middle layers, in the order of slices. Collective."""
    share, found = Share(SPLIT, comm.size, comm.rank, False, 2, device.info.kind), list[tuple[int, int, bytes]]()
    own = planes._middle

    def kept(share, dtype, device, forward, backward, statistics):
        for half, memory in enumerate((forward, backward)):
            rows = memory.download().reshape(share.slices, -1)[:, : SPLIT.mid * SPLIT.plane(SPLIT.middle)]
            slices = share.half_runs()[half].slices
            found.extend((half, number, row.tobytes()) for number, row in zip(slices, rows))
        return own(share, dtype, device, forward, backward, statistics)

    with mock.patch.object(planes, "_middle", kept):
        statistics = Statistics()
        planes.meet(problem(), share, device, comm, silent, statistics)
    assert sum(statistics.layer_bytes_sent) == share.bytes_sent()
    every = sorted(row for rows in comm.allgather(found) for row in rows)
    assert len(every) == 2 * SPLIT.slices
    return hashlib.sha256(b"".join(row for _, _, row in every)).hexdigest()


def check_calls(calls: list[tuple[str, str, str, int]], way: str, comm: Comm) -> None:
    """Check what the driver was called for during `middle_layers`: call, stream, kernel, bytes. Collective."""
    share = Share(SPLIT, comm.size, comm.rank, False, 2, "cuda")
    launches = [at for at, (what, _, name, _) in enumerate(calls) if (what, name) == ("launch", "held_karp_step_u2")]
    assert len(launches) == 2 * share.steps
    of_kernels, most = calls[launches[0]][1], 0
    for half in range(2):
        at = launches[half * share.steps :][: share.steps]
        for first, last in pairwise(at):
            step = calls[first + 1 : last]
            assert not [call for call in step if call[0] == "wait"], "a wait for a stream inside the half run"
            most = max(most, sum(what == "down" for what, *_ in step))
    assert most == (max(len(stream.outgoing) for stream in share.half_runs()) if way in HOST else 0) < comm.size
    after = calls[launches[0] :]
    moved = {what: sum(nbytes for kind, stream, _, nbytes in after if kind == what and stream != of_kernels)
             for what in ("down", "up", "across")}
    sent, all_sent = share.bytes_sent(), sum(comm.allgather(share.bytes_sent()))
    assert moved["down"] == (sent if way in HOST else 0)
    assert sum(comm.allgather(moved["up"])) == (all_sent if way in HOST else 0)
    assert sum(comm.allgather(moved["across"])) == (all_sent if way == "peer" else 0)


def resumed(comm: Comm, device: Device, folder: Path, cities: int) -> None:
    """Run a job that stops again and again and goes on by another way, also with CPUs. Rank 0 prints the ways.

    Rank 1 closes what it has opened late: until then the memory must not be freed, which the stub driver checks.
    """
    tsp, parameters, used = random_matrix(cities, seed=4), held_karp.Parameters(method="lattice"), list[str]()
    forget = device.forget_handles
    if comm.rank == 1:
        device.forget_handles = lambda: time.sleep(0.2) or forget()
    with HostDevice(threads=1) as cpu:
        expected = held_karp.ALGORITHM.solve(tsp, cpu, SerialComm(), parameters).answer.tour.tolist()
        for patience, way in enumerate(cycle((*WAYS, "cpu", "mixed")), start=2):
            os.environ["HPCSOLVE_WAYS"], comm.takes_gpu_memory = way if way in WAYS else "", way == "mpi"
            saved, looks = newest(folder, comm, print), count()
            writer = Writer(folder, comm, take_lease(folder) if comm.rank == 0 else None, "", saved)
            checkpoints = Checkpoints(lambda: next(looks) + 1 >= patience, saved, writer, Pacing(math.inf))  # noqa: B023
            used.append(way)
            here = cpu if way == "cpu" or (way == "mixed" and comm.rank == 1) else device
            try:
                found = held_karp.ALGORITHM.solve(tsp, here, comm, parameters, checkpoints=checkpoints)
            except Stopped:
                continue
            assert found.answer.tour.tolist() == expected
            break
    if comm.rank == 0:
        show(" ".join(used))


def main(comm: Comm, *words: str) -> int:
    """Try each way, and print the hashes on rank 0. With a folder and a number of cities, try the ways of `resumed`."""
    trace = Path(f"{os.environ['STUB_TRACE']}.{os.getpid()}")
    device, _ = open_device("cuda", comm)
    with device, mock.patch.dict(split.PACE, PACES):
        device.zeros(1, np.uint8).download()  # makes the file
        if words:
            with mock.patch("hpcsolve.checkpoint.checkpoints.SECONDS_BETWEEN", 0.0):  # ranks agree at each boundary
                resumed(comm, device, Path(words[0]), int(words[1]))
            return 0
        for way in WAYS:
            os.environ["HPCSOLVE_WAYS"], seen = f"{way} staged", len(trace.read_text().splitlines())
            comm.takes_gpu_memory = way == "mpi"  # as the stub's is: it is the host's
            device.notes.clear()
            found = middle_layers(device, comm)
            lines = [line.split() for line in trace.read_text().splitlines()[seen:]]
            check_calls([(what, stream, name, int(nbytes)) for what, stream, name, nbytes in lines], way, comm)
            if comm.rank == 0:
                show(f"{way} {found} {' '.join(device.notes)}")
    return 0


if __name__ == "__main__":
    sys.exit(guard(lambda comm: main(comm, *sys.argv[1:])))
