"""Computes the time of Held-Karp over several GPUs from the code's own plan, and compares it with runs on CPUs.

    python -m jobs.benchmarks.gpu.ranks                     # 30 to 40 cities on 1 to 512 H200, all resources
    python -m jobs.benchmarks.gpu.ranks --node 4 --link pcie --port 200
    python -m jobs.benchmarks.gpu.ranks --kernels 2.3       # kernels as `make gpu-clock` has them
    python -m jobs.benchmarks.gpu.ranks --compare 26 28     # with this machine: 1 and 2 CPU ranks timed, 4 counted
    python -m jobs.benchmarks.gpu.ranks --compare 28 --other CHECKOUT   # and runs of another version, in turn

Steps, messages and bytes are those of `Share` and `Stream`, which a run uses. What a resource needs for them follows
from the rates below, which are assumed or measured as they say. The time of all is that of a simulation: a rank's
kernels, copies down, messages and copies up follow one another for each step, each resource does one step at a time,
and the kernels of a step wait for the planes that were sent `lag` steps before. Prints Markdown.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.held_karp.lattice import planes
from hpcsolve.algorithms.held_karp.lattice.reduce import reduce_costs
from hpcsolve.algorithms.held_karp.lattice.run import share_of
from hpcsolve.algorithms.held_karp.lattice.split import (
    Share,
    Split,
    Stream,
    owners,
    slice_operations,
    split_cities,
    stream_of,
)
from hpcsolve.algorithms.held_karp.outcome import Statistics
from hpcsolve.algorithms.held_karp.problem import core_of
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import EnvironmentFault
from hpcsolve.output.reader import read_result
from hpcsolve.parallel.comm import Comm, Message
from hpcsolve.parallel.launch import guard
from hpcsolve.problems.generate.tsp import random_matrix
from hpcsolve.problems.questions import TourQuestion
from jobs.benchmarks.common.command import end_with, new_parser
from jobs.benchmarks.common.ranks import mpiexec
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.held_karp.instructions import BYTES_A_SECOND, CLOCK, GPU, MIN_ADDS_A_CLOCK, MULTIPROCESSORS, work

MEMORY = int(0.97 * 139 * 2**30)
"""Bytes of an H200 that a process can allocate."""
RESIDENT = 1320
"""Blocks that an H200 works on at a time (`make check-cuda`: 10 a multiprocessor)."""
LAUNCH = 5e-6
"""Seconds from the end of a launch to the beginning of the next one: assumed."""
STEP, MESSAGE = 35e-6, 20e-6
"""Seconds of the host's work for a step and a message: measured with the stub driver. A real one adds its own."""
LINKS = {"nvlink": 450e9, "pcie": 50e9}
"""Bytes a second, one way, from a GPU to the others of its node: assumed. The host is reached by PCIe in any case."""
HOST_COPY = 10e9
"""Bytes a second that a CPU rank gets from another of its host by MPI: measured, messages of 350 kB, two ranks."""
HOST_MEMORY = 450e9
"""Bytes a second that all GPUs of a node write to the host's memory and read there: assumed, 3/4 of the peak of two
processors with eight channels of DDR5-4800 each."""
NOTE = 5e-6
"""Seconds of a message without bytes: assumed."""
SIZES, RANKS = (30, 32, 34, 36, 38, 40), (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
RESOURCES = ("kernels", "host", "down", "up", "node", "network")


@dataclass(frozen=True)
class Machine:
    """The ranks' devices and what joins them.

    Attributes
    ----------
    node
        GPUs of a node.
    link, port
        Bytes a second from a GPU to others of its node, and from it to other nodes; it has a network port of its own.
    staged
        Whether all messages pass through the host's memory, which the ranks of a node share.
    serial
        Whether a rank computes and copies with the same core.
    kernels
        How many times as long as by `seconds_alone` the kernels take.
    """

    node: int = 8
    link: float = LINKS["nvlink"]
    port: float = 50e9
    staged: bool = True
    serial: bool = False
    kernels: float = 1.0


@cache
def streams(top: int, ranks: int, backward: bool) -> dict[int, Stream]:
    """Return the streams of the ranks that have slices. They follow from the number of top cities alone."""
    split = Split(1, 1, top)
    owner = owners(split, ranks, False)[:: -1 if backward else 1]
    return {rank: stream_of(split, owner, rank) for rank in sorted(set(owner))}


@dataclass(frozen=True)
class Steps:
    """A half run by step and rank.

    Attributes
    ----------
    blocks
        Blocks of the launch, weighted by their work.
    launched
        Whether there are any.
    messages
        Messages that are sent.
    near_in, far_in, near_out, far_out
        Bytes from and to ranks of the same node and of others.
    senders
        Shape (ranks, most): the ranks that send something to each rank, filled up with the rank itself.
    """

    blocks: NDArray[np.float64]
    launched: NDArray[np.bool_]
    messages: NDArray[np.int64]
    near_in: NDArray[np.int64]
    far_in: NDArray[np.int64]
    near_out: NDArray[np.int64]
    far_out: NDArray[np.int64]
    senders: NDArray[np.intp]


def steps_of(share: Share, of_ranks: dict[int, Stream], node: int) -> Steps:
    """Return the steps of a half run of all ranks that have slices."""
    split, steps, count = share.split, share.steps, len(of_ranks)
    place = {rank: at for at, rank in enumerate(of_ranks)}
    sets = share.chunks[:, 2]
    chunk = np.arange(steps)[:, None] - share.lag * np.arange(split.top + 1)
    at_work = np.where((chunk >= 0) & (chunk < len(sets)), sets[np.clip(chunk, 0, len(sets) - 1)], 0)
    stages = ([a.bit_count() for a in stream.slices] for stream in of_ranks.values())
    slices = np.array([np.bincount(each, minlength=split.top + 1) for each in stages]).T
    operations = np.array([float(slice_operations(split, stage)) for stage in range(split.top + 1)])
    mean = float(operations @ slices.sum(axis=1)) / split.slices
    found = Steps(at_work @ (slices * (operations / mean)[:, None]), at_work @ slices > 0,
                  *(np.zeros((steps, count), np.int64) for _ in range(5)),
                  np.tile(np.arange(count)[:, None], max(len(s.incoming) for s in of_ranks.values()) or 1))
    block = share.itemsize << split.low
    for rank, stream in of_ranks.items():
        starts = stream.starts(sets, share.lag, steps).astype(np.int64) * block
        for messages, near, far in ((stream.outgoing, found.near_out, found.far_out),
                                    (stream.incoming, found.near_in, found.far_in)):
            for number, message in enumerate(messages):
                nbytes = starts[:, message.parts.stop] - starts[:, message.parts.start]
                (near if message.peer // node == rank // node else far)[:, place[rank]] += nbytes
                if messages is stream.outgoing:
                    found.messages[:, place[rank]] += nbytes > 0
                else:
                    found.senders[place[rank], number] = place[message.peer]
    return found


def simulated(share: Share, seconds_alone: float, machine: Machine) -> tuple[float, dict[str, float]]:
    """Return the seconds of both half runs, and for each resource the seconds of the rank that needs it longest.

    Parameters
    ----------
    share
        Of any rank.
    seconds_alone
        The time of all kernels on one device.
    """
    block = seconds_alone / (len(share.half_runs()) * share.split.slices * share.split.sets())
    total, needs = 0.0, dict.fromkeys(RESOURCES, 0.0)
    for backward in range(len(share.half_runs())):
        half = steps_of(share, streams(share.split.top, share.ranks, bool(backward)), machine.node)
        spans = _spans(half, block, machine)
        for name, span in spans.items():
            needs[name] += float(span.sum(axis=0).max())
        total += _simulate(half, spans, share.lag)
    return total, needs


def _spans(half: Steps, block: float, machine: Machine) -> dict[str, NDArray[np.float64]]:
    """Return the seconds that each resource needs by step and rank."""
    nothing = np.zeros(half.blocks.shape)
    near = np.maximum(half.near_in, half.near_out)
    network = np.maximum(half.far_in, half.far_out) / machine.port
    into, out = half.near_in + half.far_in, half.near_out + half.far_out
    if machine.serial:
        kernels = half.blocks * block + half.near_in / HOST_COPY
        return {**dict.fromkeys(RESOURCES, nothing), "kernels": kernels, "network": network}
    kernels = np.where(half.launched, np.maximum(half.blocks, RESIDENT) * block + LAUNCH, LAUNCH)
    copies = LINKS["pcie"] if machine.staged else np.inf
    return {"kernels": kernels, "host": STEP + MESSAGE * half.messages, "down": out / copies, "up": into / copies,
            "node": (into + out) / (HOST_MEMORY / machine.node) if machine.staged else near / machine.link,
            "network": network}


def _simulate(half: Steps, spans: dict[str, NDArray[np.float64]], lag: int) -> float:
    """Return the seconds of a half run."""
    steps, ranks = half.blocks.shape
    free = {name: np.zeros(ranks) for name in RESOURCES}
    ready = np.zeros((steps + lag, ranks))
    some = half.messages.any()

    def use(name: str, step: int, after: NDArray[np.float64]) -> NDArray[np.float64]:
        free[name] = np.maximum(free[name], after) + spans[name][step]
        return free[name]

    for step in range(steps):
        issued = use("host", step, ready[step])
        done = use("kernels", step, np.maximum(issued, ready[step]))
        if some:
            down = use("down", step, done)
            sent = down[half.senders].max(axis=1) + NOTE
            arrived = np.maximum(use("node", step, sent), use("network", step, sent))
            expects = half.near_in[step] + half.far_in[step] > 0
            ready[step + lag] = np.where(expects, use("up", step, np.where(expects, arrived, 0)), 0)
    return float(max(free["kernels"].max(), free["up"].max()))


def seconds_alone(n: int) -> float:
    """Return the least seconds of all kernels of n cities on one H200, asymmetric, 16-bit states (instructions.py)."""
    split, clocks = split_cities(n - 1), MULTIPROCESSORS * CLOCK
    done, moved = work(split, GPU[0]), 4 * (split.mid + split.top) << (n - 2)
    return max(done.min_adds / MIN_ADDS_A_CLOCK / clocks, (done.words + done.loads) / clocks, moved / BYTES_A_SECOND)


def seconds(n: int, ranks: int, machine: Machine) -> tuple[float, dict[str, float]]:
    """Return the seconds of a run on H200s, and those of each resource.

    Beside the half runs, the layer where they meet is read, and rank 0 finds the tour by a run of about 3/4 of the
    cities.
    """
    share = Share(split_cities(n - 1), ranks, 0, False, 2, "cuda")
    total, needs = simulated(share, machine.kernels * seconds_alone(n), machine)
    rest = n - share.split.middle - 1
    again = Share(split_cities(rest - 1), 1, 0, False, 2, "cuda")
    met = 2 * share.stored_bytes() / BYTES_A_SECOND
    return total + met + simulated(again, machine.kernels * seconds_alone(rest), machine)[0], needs


def largest(ranks: int, symmetric: bool) -> int:
    """Return the most cities that so many H200 hold, with 16-bit states. Rank 0 needs as much as any."""
    fitting = (n for n in range(47, 20, -1)
               if Share(split_cities(n - 1), ranks, 0, symmetric, 2, "cuda").peak_bytes() <= MEMORY)
    return next(fitting)


def table(machine: Machine) -> list[str]:
    """Return the lines of the table of all sizes and ranks that fit, in milliseconds."""
    rows = []
    for n in SIZES:
        for ranks in RANKS:
            share = Share(split_cities(n - 1), ranks, 0, False, 2, "cuda")
            if share.peak_bytes() > MEMORY:
                continue
            of_ranks = streams(share.split.top, ranks, False)
            most = max(len(s.outgoing) + len(s.incoming) for s in of_ranks.values())
            crossing = max(s.crossing for s in of_ranks.values()) * share.chunk_size << share.split.low + 1
            staged, needs = seconds(n, ranks, machine)
            direct, others = seconds(n, ranks, replace(machine, staged=False))
            rows.append([str(n), str(ranks), f"{share.peak_bytes() / 2**30:.1f}", str(2 * share.steps), str(most),
                         f"{crossing / 1e6:.1f}", *(f"{1e3 * needs[name]:.3g}" for name in RESOURCES),
                         f"{1e3 * others['node']:.3g}", f"{1e3 * staged:.3g}", f"{1e3 * direct:.3g}"])
    titles = ["n", "GPUs", "GiB a GPU", "steps", "messages a step", "MB a step", "kernels", "host", "down", "up",
              "node, staged", "network", "node, direct", "staged", "direct"]
    return markdown(titles, rows)


def machines(n: int, kernels: float) -> list[str]:
    """Return the lines of a table of other machines, in milliseconds: staged / direct."""
    rows = []
    for node in (4, 8):
        for link, rate in LINKS.items():
            for port in (200, 400):
                machine = Machine(node, rate, port * 1e9 / 8, kernels=kernels)
                times = [[1e3 * seconds(n, ranks, replace(machine, staged=staged))[0] for staged in (True, False)]
                         for ranks in (8, 32, 128)]
                rows.append([f"{node} GPUs, {link}, {port} Gbit/s", *(f"{a:.3g} / {b:.3g}" for a, b in times)])
    return markdown([f"n = {n}, nodes of", "8 GPUs", "32", "128"], rows)


class CountingComm:
    """A communicator that counts the messages that this rank sends through a transport, and their bytes."""

    def __init__(self, comm: Comm) -> None:
        self._comm, self.messages, self.nbytes = comm, 0, 0

    def __getattr__(self, name: str) -> object:
        """Return the member of the communicator itself."""
        return vars(type(self)).get(name) or self._comm.__getattribute__(name)

    def message(self, memory: NDArray[np.uint8] | tuple[int, int], peer: int, sends: bool, tag: int) -> Message:
        """Prepare a message that is counted when it is started."""
        made = self._comm.message(memory, peer, sends, tag)
        return _Counted(self, made, memory[1] if isinstance(memory, tuple) else memory.nbytes) if sends else made


@dataclass
class _Counted:
    comm: CountingComm
    made: Message
    nbytes: int

    def start(self) -> None:
        """Count the message, and start it."""
        self.comm.messages, self.comm.nbytes = self.comm.messages + 1, self.comm.nbytes + self.nbytes
        self.made.start()

    def done(self) -> bool:
        """Return whether it is done."""
        return self.made.done()

    def free(self) -> None:
        """Free it."""
        self.made.free()


def measured(comm: Comm, n: int, repeats: int) -> dict[str, float]:
    """Return the least seconds of the half runs of n random cities on CPUs, of the slowest rank. Collective."""
    reduced = reduce_costs(core_of(random_matrix(n), TourQuestion()).cost)
    times = []
    with HostDevice(threads=1) as device:
        for _ in range(repeats):
            counting, statistics = CountingComm(comm), Statistics()
            share = share_of(reduced, device, comm)
            comm.barrier()
            started = time.perf_counter()
            planes.meet(reduced, share, device, counting, silent, statistics)  # type: ignore[arg-type]
            times.append(max(comm.allgather(time.perf_counter() - started)))
    counts = comm.allgather((counting.messages, counting.nbytes, share.bytes_sent(), statistics.seconds_wait))
    messages, nbytes, planned, waited = map(list, zip(*counts))
    return {"seconds": min(times), "steps": 2 * share.steps, "messages": sum(messages), "bytes": sum(nbytes),
            "planned bytes": sum(planned), "wait": max(waited) / (2 * share.steps)}


def planned_messages(n: int, ranks: int) -> int:
    """Return the messages of all steps and ranks on CPUs, by the plan."""
    share = Share(split_cities(n - 1), ranks, 0, False, 2)
    halves = (steps_of(share, streams(share.split.top, ranks, bool(b)), 8) for b in range(2))
    return int(sum(half.messages.sum() for half in halves))


def compare(n: int, repeats: int) -> list[str]:
    """Return the lines of the comparison with runs on CPU ranks of this machine.

    Raises
    ------
    EnvironmentFault
        A run fails.
    """
    found = {}
    for ranks in (1, 2, 4):
        command = [mpiexec(), "-n", str(ranks), sys.executable, "-m", "jobs.benchmarks.gpu.ranks", "--measure", str(n),
                   "--repeats", str(repeats if ranks < 4 else 1)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise EnvironmentFault(f"{' '.join(command)} ended with exit code {done.returncode}: {done.stderr.strip()}")
        found[ranks] = json.loads(done.stdout)
    machine = Machine(node=8, link=HOST_COPY, staged=False, serial=True)
    share = Share(split_cities(n - 1), 2, 0, False, 2)
    model = simulated(share, found[1]["seconds"], machine)[0]
    two, four = found[2], found[4]
    return [
        f"n = {n}: 1 CPU rank {found[1]['seconds']:.3f} s; 2 ranks {two['seconds']:.3f} s, by the model {model:.3f} s "
        f"({100 * (model / two['seconds'] - 1):+.0f} %), {1e3 * two['wait']:.3f} ms of waiting a step",
        f"n = {n}: 4 ranks send {four['messages']:.0f} messages in {four['steps']:.0f} steps (planned "
        f"{planned_messages(n, 4)}) and {four['bytes']:.0f} bytes (planned {four['planned bytes']:.0f})",
    ]


JOB = """algorithm = "held-karp"
instance = {{ generate = "random-matrix", n = {} }}
threads = 1
[held-karp]
method = "lattice"
"""


def beside(n: int, other: str, repeats: int) -> list[str]:
    """Return the lines of `hpcsolve run` on 1 and 2 CPU ranks, in a checkout of another version and here, in turn."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "job.toml"
        job.write_text(JOB.format(n))
        for ranks in (1, 2):
            runs = [[_once(job, ranks, root) for root in (other, None)] for _ in range(repeats)]
            there, here = (np.min(found, axis=0) for found in zip(*runs))
            both = "; ".join(f"{what} {before:.3f} and {now:.3f} s" for what, before, now in zip(PARTS, there, here))
            lines.append(f"n = {n}, {ranks} of `hpcsolve run`, there and here: {both}")
    return lines


PARTS = {"run": np.max, "kernels of all ranks": np.sum, "copies and waiting of a rank": np.mean}
"""What is told of a run, and how it follows from the ranks' seconds."""


def _once(job: Path, ranks: int, root: str | None) -> list[float]:
    """Return the seconds of a run: one for each of `PARTS`."""
    output = job.with_suffix(".h5")
    command = [mpiexec(), "-n", str(ranks), sys.executable, "-m", "hpcsolve", "run", str(job), "--device", "cpu",
               "--output", str(output), "--overwrite"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise EnvironmentFault(f"{' '.join(command)} ended with exit code {done.returncode}: {done.stderr.strip()}")
    own = read_result(output).groups["ranks"]
    output.unlink()  # or the next run would find its job done already
    run, kernel, copy, wait = (np.asarray(own[f"seconds_{name}"].values) for name in ("run", "kernel", "copy", "wait"))
    return [float(total(each)) for total, each in zip(PARTS.values(), (run, kernel, copy + wait))]


def main() -> int:
    """Print the tables, or the comparison, and return the exit code."""
    parser = new_parser("jobs.benchmarks.gpu.ranks", __doc__)
    parser.add_argument("--node", type=int, default=8, help="GPUs of a node (default 8)")
    parser.add_argument("--link", choices=LINKS, default="nvlink", help="what joins them (default nvlink)")
    parser.add_argument("--port", type=float, default=400, help="Gbit/s of a GPU's network port (default 400)")
    parser.add_argument("--kernels", type=float, default=1.0, metavar="TIMES",
                        help="times the least seconds of kernels, by instructions.py (default 1)")
    parser.add_argument("--compare", type=int, nargs="+", default=[], metavar="N", help="compare with CPU ranks")
    parser.add_argument("--other", help="with --compare: root of a checkout of another version")
    parser.add_argument("--measure", type=int, metavar="N", help="time N cities on these ranks")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="runs; the best counts (default 3)")
    options = parser.parse_args()
    if options.measure:
        return guard(lambda comm: _print_measured(comm, options.measure, options.repeats))
    if options.compare:
        for n in options.compare:
            print("\n".join(compare(n, options.repeats)))
            if options.other:
                print("\n".join(beside(n, options.other, options.repeats)))
        return 0
    machine = Machine(options.node, LINKS[options.link], options.port * 1e9 / 8, kernels=options.kernels)
    print(f"Milliseconds; nodes of {options.node} GPUs, {options.link}, {options.port:.0f} Gbit/s a GPU; "
          f"kernels {options.kernels:g} times their least.\n")
    print("\n".join([*table(machine), "", *machines(36, options.kernels), ""]))
    rows = [[str(ranks), *(str(largest(ranks, symmetric)) for symmetric in (False, True))] for ranks in RANKS]
    print("\n".join(markdown(["H200", "most cities, asymmetric", "symmetric"], rows)))
    return 0


def _print_measured(comm: Comm, n: int, repeats: int) -> int:
    found = measured(comm, n, repeats)
    if comm.rank == 0:
        print(json.dumps(found))
    return 0


if __name__ == "__main__":
    end_with(main, "jobs.benchmarks.gpu.ranks")
