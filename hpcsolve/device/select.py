"""The GPUs that this process sees, and the choice of a rank's device.

All ranks get one kind of device, and if one of them fails, all raise the same error. The ranks of a host choose their
GPUs in turn, each the nearest to its cores of those that the fewest others have. It does not matter whether the
launcher shows every rank all GPUs or each rank its own. Two ranks on one GPU are found by the GPU's UUID. There is no
silent fallback: only `auto` may choose, and it says why. NVIDIA's libraries are loaded by calls, not by the import.
"""

from __future__ import annotations

import ctypes
import os
import re
import socket
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from hpcsolve.device.base import Device
from hpcsolve.errors import HpcsolveError, InputError, ResourceError, agree
from hpcsolve.wording import counted

FUNCTIONS_SINCE = {
    "cuDevicePrimaryCtxRelease_v2": (11, 0), "cuCtxCreate_v4": (12, 5), "cuEventElapsedTime_v2": (12, 8),
}
"""The versions of CUDA (cudaTypedefs.h) that brought functions of the driver which PyCUDA needs or may need."""


@dataclass(frozen=True)
class Gpu:
    """One visible GPU, or a MIG slice of one.

    Attributes
    ----------
    index
        Its number among the visible ones, in the order of nvidia-smi.
    uuid
        `GPU-...` or `MIG-...`, as nvidia-smi prints it.
    bus
        PCI bus id.
    memory
        Bytes in all.
    capability
        Compute capability, major and minor.
    multiprocessors
        Number of multiprocessors, which work on blocks at the same time.
    """

    index: int
    name: str
    uuid: str
    bus: str
    memory: int
    capability: tuple[int, int]
    multiprocessors: int = 1

    @property
    def architecture(self) -> str:
        """The compute capability as nvcc's option -arch takes it, `sm_90`."""
        return "sm_{}{}".format(*self.capability)

    def __str__(self) -> str:
        """Return a description for messages: `GPU 0 (NVIDIA H100, GPU-2f6c...)`."""
        return f"GPU {self.index} ({self.name}, {self.uuid})"


def list_gpus() -> list[Gpu]:
    """Return the GPUs that this process sees, at least one.

    Raises
    ------
    ResourceError
        There is no GPU, no driver, or no PyCUDA. The message says which.
    """
    cuda, library = load_driver(), load_library()
    gpus = [_describe(cuda, library, index) for index in range(cuda.Device.count())]
    if not gpus:
        raise ResourceError(_nothing_visible())
    return gpus


def load_driver() -> Any:
    """Return PyCUDA's module `driver`, initialised. PyCUDA has no type hints, so it is `Any`.

    Raises
    ------
    ResourceError
        PyCUDA or the driver is missing, the driver is too old for this PyCUDA, or it finds no GPU.
    """
    # By default the driver numbers the fastest GPU 0, but `cuda:1` must be the GPU 1 of nvidia-smi.
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an old driver PyCUDA warns in many lines, beside the error
            import pycuda.driver as cuda
    except ModuleNotFoundError:
        raise ResourceError("PyCUDA is not installed (pip install pycuda)") from None
    except ImportError as error:
        raise ResourceError(_why_not_imported(error)) from None
    try:
        cuda.init()
    except cuda.Error as error:
        raise ResourceError(f"{_nothing_visible()} ({error})") from None
    return cuda


def load_library() -> ctypes.CDLL:
    """Return the driver's library, for the few functions that PyCUDA lacks."""
    return ctypes.CDLL("libcuda.so.1")


def driver_version() -> str:
    """Return the version of CUDA that the driver is for, such as `12.4`. It runs what older toolkits made, too."""
    version = ctypes.c_int()
    load_library().cuDriverGetVersion(ctypes.byref(version))
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def _describe(cuda: Any, library: ctypes.CDLL, index: int) -> Gpu:
    device = cuda.Device(index)
    name = device.name()
    return Gpu(
        index=index,
        name=name,
        uuid=("MIG-" if " MIG " in name else "GPU-") + _uuid(library, index),
        bus=device.pci_bus_id(),
        memory=device.total_memory(),
        capability=device.compute_capability(),
        multiprocessors=device.get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT),
    )


def _uuid(library: ctypes.CDLL, index: int) -> str:
    handle, content = ctypes.c_int(), ctypes.create_string_buffer(16)
    library.cuDeviceGet(ctypes.byref(handle), ctypes.c_int(index))
    # The second version distinguishes the MIG slices of one GPU; drivers before CUDA 11.4 have only the first.
    read = getattr(library, "cuDeviceGetUuid_v2", None) or library.cuDeviceGetUuid
    read(content, handle)
    return str(uuid.UUID(bytes=content.raw))


def _why_not_imported(error: ImportError) -> str:
    """Return why PyCUDA's extension could not be loaded: no driver, one that lacks a function, or something else."""
    if "libcuda" in str(error):
        return f"PyCUDA finds no NVIDIA driver ({error})"
    missing = re.search(r"undefined symbol: (cu\w+)", str(error))
    if missing is None:
        return f"PyCUDA cannot be loaded ({error}); install it again"
    own, needed = driver_version(), _needed_version(Path(error.path or os.devnull).read_bytes())
    return (
        f"NVIDIA's driver is too old for this PyCUDA: it is for CUDA {own}, without {missing[1]}, "
        f"and {needed} is needed; update the driver, or build PyCUDA again with the toolkit of CUDA {own}"
    )


def _needed_version(extension: bytes) -> str:
    """Return the least version of CUDA that has the driver's functions which PyCUDA's extension names."""
    versions = [version for name, version in FUNCTIONS_SINCE.items() if name.encode() in extension]
    return "CUDA {}.{} or newer".format(*max(versions)) if versions else "a newer one"


def _nothing_visible() -> str:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return "the driver shows no GPU" + ("" if visible is None else f", CUDA_VISIBLE_DEVICES={visible!r}")


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

    def open(self) -> Device:
        """Open the device."""
        if self.gpu is None:
            from hpcsolve.device.host import HostDevice

            return HostDevice(threads=self.threads)
        from hpcsolve.device.cuda import CudaDevice

        return CudaDevice(self.gpu, self.threads)


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
    device = on_all_ranks(comm, lambda: choice.open(), give_up=lambda device: device.close())
    if least := least_share(comm.allgather((device.info.uuid, device.info.memory))):
        device.info = replace(device.info, memory=least if device.info.kind == "cuda" else 0)
    return device, choice.reason


def choose(
    request: str,
    comm: Ranks,
    *,
    share_gpu: bool = False,
    threads: int | None = None,
    survey: Callable[[], list[Gpu]] | None = None,
    distance: Callable[[Gpu], int] | None = None,
    host: str | None = None,
) -> Choice:
    """Return what `open_device` will open.

    Parameters
    ----------
    survey
        Lists the GPUs that this rank sees, by default `list_gpus`.
    distance
        Returns how far a GPU is from the cores of this rank, by default `numa_distance`.
    host
        The name of this rank's host.
    """
    survey, distance = survey or list_gpus, distance or numa_distance
    check_request(request)
    host = socket.gethostname() if host is None else host
    kind, why = _choose_kind(request, comm, survey)
    asked, how = on_all_ranks(comm, lambda: requested_threads(threads, os.environ))
    # The share is computed even where it is not needed, since all ranks must make the same collective calls.
    share, sharing = fair_share(comm, host)
    count, beside = asked or share, f"{counted(asked or share, 'thread')} ({how or sharing})"
    if kind == "cpu":
        return Choice(None, count, f"cpu ({why}): {beside}")
    gpus = on_all_ranks(comm, lambda: _asked_for(survey))
    if request.lower() in ("auto", "cuda"):
        sights = comm.allgather((host, [(gpu.uuid, distance(gpu)) for gpu in gpus]))
        here = [rank for rank, (name, _) in enumerate(sights) if name == host]
        turns = nearest_gpus([sights[rank][1] for rank in here])
        gpu, sight = gpus[turns[here.index(comm.rank)]], f"local rank {comm.local_rank}, {len(gpus)} visible"
        if len({far for _, far in sights[comm.rank][1]}) > 1:
            sight += ", the nearest of those that fewest ranks have"
    else:
        gpu, sight = on_all_ranks(comm, lambda: named_gpu(request, gpus)), f"named by {request}"
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


def named_gpu(request: str, gpus: list[Gpu]) -> Gpu:
    """Return the GPU, of those that a rank sees, that a request names by its number or UUID.

    Raises
    ------
    ResourceError
        The request fits no GPU, or several. The message lists the visible ones.
    """
    visible = "visible are " + ", ".join(map(str, gpus))
    if request.lower().startswith("cuda:"):
        meant = [gpu for gpu in gpus if gpu.index == int(request[5:])]
    else:
        meant = [gpu for gpu in gpus if gpu.uuid.lower().startswith(request.lower())]
    if not meant:
        raise ResourceError(f"there is no GPU {request}; {visible}")
    if len(meant) > 1:
        raise ResourceError(f"{request} is the beginning of {len(meant)} UUIDs, give more characters; {visible}")
    return meant[0]


def nearest_gpus(sights: Sequence[Sequence[tuple[str, int]]]) -> list[int]:
    """Return which of the GPUs that it sees each rank of a host gets, by index.

    The ranks choose in turn: a GPU that the fewest others have, of these the nearest, and of equally near ones the one
    whose index is the number of the rank on its host, modulo the number of GPUs.

    Parameters
    ----------
    sights
        For each rank UUID and distance of the GPUs that it sees.
    """
    taken: Counter[str] = Counter()
    found = []
    for rank, sight in enumerate(sights):
        keys = [(taken[uuid], far, (index - rank) % len(sight)) for index, (uuid, far) in enumerate(sight)]
        found.append(keys.index(min(keys)))
        taken[sight[found[-1]][0]] += 1
    return found


def numa_distance(gpu: Gpu, system: Path = Path("/sys")) -> int:
    """Return how far the memory beside a GPU is from the cores of this process, as Linux counts, or 0 if it is unknown.

    10 is the cores' own NUMA node. Of cores on several nodes the nearest count.
    """
    cores, nodes = os.sched_getaffinity(0), system / "devices/system/node"
    try:
        own = int((system / "bus/pci/devices" / gpu.bus.lower() / "numa_node").read_text())
        distances = (nodes / f"node{own}" / "distance").read_text().split()
        order = sorted(int(path.name[4:]) for path in nodes.glob("node[0-9]*"))
        return min(int(far) for far, node in zip(distances, order, strict=True)
                   if any((nodes / f"node{node}" / f"cpu{core}").exists() for core in cores))
    except (OSError, ValueError):
        return 0


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


def least_share(owners: Sequence[tuple[str, int]]) -> int:
    """Return the least memory that a rank has of its GPU, or 0 if none has a GPU.

    Parameters
    ----------
    owners
        For each rank the UUID of its GPU and the bytes free there; "" and 0 without a GPU.
    """
    sharers = Counter(uuid for uuid, _ in owners)
    return min((free // sharers[uuid] for uuid, free in owners if uuid), default=0)


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
