"""The choice of a rank's device. All ranks get one kind, and if one of them fails, all raise the same error.

A GPU is chosen by the rank's number on its host, modulo the number of GPUs that it sees. So it does not matter whether
the launcher shows every rank all GPUs or each rank its own. Two ranks on one GPU are found by the GPU's UUID. There is
no silent fallback: only `auto` may choose, and it says why.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from hpcsolve.device.base import Device
from hpcsolve.device.gpus import Gpu, list_gpus
from hpcsolve.errors import HpcsolveError, InputError, ResourceError, agree
from hpcsolve.wording import counted

T = TypeVar("T")


class Ranks(Protocol):
    """The part of a communicator that is needed here (`parallel.comm.Comm`, a layer above, has it)."""

    rank: int
    size: int
    local_rank: int
    local_size: int

    def allgather(self, value: T) -> list[T]:
        """Return every rank's value in rank order, on every rank."""


@dataclass(frozen=True)
class Choice:
    """What a rank will open, a GPU or CPU cores, how many CPU threads it has in either case, and the reason."""

    gpu: Gpu | None
    threads: int
    reason: str


def open_device(
    request: str, comm: Ranks, *, share_gpu: bool = False, threads: int | None = None
) -> tuple[Device, str]:
    """Open this rank's device. Collective. All ranks give the same request.

    Parameters
    ----------
    request
        `auto`, `cpu`, `cuda`, `cuda:1` (as nvidia-smi counts), a GPU's UUID, or a unique prefix of it.
    comm
        The ranks of the run.
    share_gpu
        Whether several ranks may use one GPU.
    threads
        CPU threads of each rank, beside a GPU too; by default OMP_NUM_THREADS, else a fair share of the host's cores.

    Returns
    -------
    The device, and one line that says which it is and why.

    Raises
    ------
    InputError
        `request` or `threads` is not valid.
    ResourceError
        There is no such GPU, or two ranks would share one. All ranks raise this.
    EnvironmentFault
        The device is there but cannot be used. All ranks raise this.
    """
    choice = choose(request, comm, share_gpu=share_gpu, threads=threads)
    return on_all_ranks(comm, lambda: _open(choice), give_up=lambda device: device.close()), choice.reason


def choose(
    request: str,
    comm: Ranks,
    *,
    share_gpu: bool = False,
    threads: int | None = None,
    survey: Callable[[], list[Gpu]] = list_gpus,
    host: str | None = None,
) -> Choice:
    """Return what `open_device` will open. `survey` lists the GPUs that this rank sees, `host` is its host's name."""
    check_request(request)
    host = socket.gethostname() if host is None else host
    kind, why = _choose_kind(request, comm, survey)
    asked, how = on_all_ranks(comm, lambda: requested_threads(threads, os.environ))
    # The share is computed even where it is not needed, since all ranks must make the same collective calls.
    share, sharing = fair_share(comm, host)
    count, beside = asked or share, f"{counted(asked or share, 'thread')} ({how or sharing})"
    if kind == "cpu":
        return Choice(None, count, f"cpu ({why}): {beside}")
    gpu, sight = on_all_ranks(comm, lambda: pick_gpu(request, _asked_for(survey), comm.local_rank))
    if not share_gpu:
        refuse_sharing(comm.allgather((host, gpu)))
    return Choice(gpu, count, f"{gpu} ({why}; {sight}), beside it the CPU: {beside}")


def _asked_for(survey: Callable[[], list[Gpu]]) -> list[Gpu]:
    """Return the GPUs that a rank sees, which the user has asked for. Raises `ResourceError` if there are none."""
    try:
        return survey()
    except ResourceError as error:
        raise ResourceError(f"{error}; to run on CPU cores instead, say --device cpu") from None


def check_request(request: str) -> None:
    """Raise `InputError` if this does not name a device."""
    if not re.fullmatch(r"auto|cpu|cuda|cuda:\d{1,4}|(GPU|MIG)-[0-9a-f-]+", request, re.IGNORECASE):
        raise InputError(f"device {request!r}: expected auto, cpu, cuda, cuda:1 or a GPU's UUID (GPU-...)")


def pick_gpu(request: str, gpus: list[Gpu], local_rank: int) -> tuple[Gpu, str]:
    """Return the GPU that a rank gets of those it sees, and how it was chosen.

    Raises
    ------
    ResourceError
        The request fits no GPU, or several. The message lists the visible ones.
    """
    visible = "visible are " + ", ".join(map(str, gpus))
    if request.lower() in ("auto", "cuda"):
        return gpus[local_rank % len(gpus)], f"local rank {local_rank}, {len(gpus)} visible"
    if request.lower().startswith("cuda:"):
        meant = [gpu for gpu in gpus if gpu.index == int(request[5:])]
    else:
        meant = [gpu for gpu in gpus if gpu.uuid.lower().startswith(request.lower())]
    if not meant:
        raise ResourceError(f"there is no GPU {request}; {visible}")
    if len(meant) > 1:
        raise ResourceError(f"{request} is the beginning of {len(meant)} UUIDs, give more characters; {visible}")
    return meant[0], f"named by {request}"


def refuse_sharing(owners: list[tuple[str, Gpu]]) -> None:
    """Raise `ResourceError` if two ranks have one GPU. `owners` is (host, GPU) by rank."""
    first: dict[tuple[str, str], int] = {}
    for rank, (host, gpu) in enumerate(owners):
        other = first.setdefault((host, gpu.uuid), rank)
        if other != rank:
            raise ResourceError(
                f"ranks {other} and {rank} on {host} would share {gpu}: "
                "start one rank per GPU there, or set share-gpu = true"
            )


def memory_for_rank(device: Device, comm: Ranks) -> int:
    """Return the bytes that this rank may take of its device: an equal share if ranks share it. Collective."""
    uuids = comm.allgather(device.info.uuid)
    sharers = uuids.count(device.info.uuid) if device.info.uuid else comm.local_size
    return device.memory_free() // sharers


def share_of_cores(masks: list[frozenset[int]], position: int) -> int:
    """Return how many threads a rank gets of its host's cores.

    Parameters
    ----------
    masks
        The cores that each rank of the host may run on. Equal masks are divided, disjoint ones belong to their rank.
    position
        The rank's index in `masks`.
    """
    count = [0] * len(masks)
    holders = {core: [i for i, mask in enumerate(masks) if core in mask] for core in frozenset().union(*masks)}
    for core in sorted(holders, key=lambda core: (len(holders[core]), core)):
        count[min(holders[core], key=lambda i: count[i])] += 1
    return max(1, count[position])


def fair_share(comm: Ranks, host: str) -> tuple[int, str]:
    """Return how many of its host's cores this rank has, and the same in words. Collective."""
    masks = comm.allgather((host, frozenset(os.sched_getaffinity(0))))
    local = [rank for rank, (name, _) in enumerate(masks) if name == host]
    cores = len(frozenset().union(*(masks[rank][1] for rank in local)))
    share = share_of_cores([masks[rank][1] for rank in local], local.index(comm.rank))
    return share, f"its share of {counted(cores, 'core')} for {len(local)} ranks" if len(local) > 1 else "its cores"


def most_threads() -> int:
    """Return the largest number of threads that may be asked for: 4 per core, at least 64.

    With more threads OpenMP may abort the process.
    """
    return max(64, 4 * (os.cpu_count() or 1))


def requested_threads(threads: int | None, environment: Mapping[str, str]) -> tuple[int, str]:
    """Return the number of threads that the job or OMP_NUM_THREADS asks for, 0 if neither does, and the reason.

    Raises
    ------
    InputError
        The value is less than 1, more than `most_threads`, or not a number.
    """
    if threads is not None:
        if not 1 <= threads <= most_threads():
            raise InputError(f"threads = {threads}: it must be at least 1, at most {most_threads()} on this machine")
        return threads, "as the job says"
    text = environment.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if text and not re.fullmatch("0*[1-9][0-9]*", text):
        raise InputError(f"OMP_NUM_THREADS={text!r}: it must be a number of at least 1, or unset")
    if len(text) > 9 or int(text or 0) > most_threads():
        advice = "unset it, or set threads"
        raise InputError(f"OMP_NUM_THREADS={text[:20]}: at most {most_threads()} on this machine; {advice}")
    return int(text or 0), "OMP_NUM_THREADS" if text else ""


def on_all_ranks(comm: Ranks, act: Callable[[], T], give_up: Callable[[T], None] = lambda _: None) -> T:
    """Return the result of `act` if it succeeds on every rank, else raise the first rank's error.

    Collective. All ranks raise the same error, and where only other ranks failed, `give_up` releases this rank's
    result.
    """
    results: list[T] = []
    error: HpcsolveError | None = None
    try:
        results.append(act())
    except HpcsolveError as problem:
        error = problem if comm.size == 1 else type(problem)(f"rank {comm.rank}: {problem}")
    try:
        agree(comm, error)
    except HpcsolveError:
        for result in results:
            give_up(result)
        raise
    return results[0]


def _choose_kind(request: str, comm: Ranks, survey: Callable[[], list[Gpu]]) -> tuple[str, str]:
    if request.lower() == "cpu":
        return "cpu", "as asked"
    if request.lower() != "auto":
        return "cuda", "as asked"
    reasons = comm.allgather(_why_no_gpu(survey))
    without = next((rank for rank, reason in enumerate(reasons) if reason), None)
    if without is None:
        return "cuda", "auto: every rank sees a GPU"
    where = "" if comm.size == 1 else f"rank {without}: "
    return "cpu", f"auto: {where}{reasons[without]}"


def _why_no_gpu(survey: Callable[[], list[Gpu]]) -> str:
    try:
        survey()
    except ResourceError as reason:
        return str(reason)
    return ""


def _open(choice: Choice) -> Device:
    if choice.gpu is None:
        from hpcsolve.device.host import HostDevice

        return HostDevice(threads=choice.threads)
    from hpcsolve.device.cuda import CudaDevice

    return CudaDevice(choice.gpu, choice.threads)
