"""How much memory this process may still allocate, by the machine, cgroups, Slurm and ulimit, and refusals for lack."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hpcsolve.errors import ResourceError
from hpcsolve.wording import size

_UNLIMITED = 1 << 60
OWN_CODE = 32 << 20
"""Bytes of the modules that a run loads after it has read its instance."""
LIBRARIES = 20 << 20, 104 << 20
"""Bytes of memory, and of addresses, that the libraries of every command take: 17 and 103 MiB were measured."""
_MEMORY = "failed to map segment", "Cannot allocate memory", "cannot allocate memory"
"""What the loader of libraries says when memory is used up."""


def available_memory() -> int:
    """Return the bytes that this process may still allocate, at least 0.

    The tasks on a node share Slurm's limit equally.
    """
    return max(0, min(available_to_host(), available_to_process(), _slurm() // _tasks()))


def require_free_for_libraries() -> None:
    """Refuse to load numpy and the libraries beside it where their memory is not free.

    OpenBLAS, which numpy loads, ends the process where it lacks memory, with the exit code of a failed check.

    Raises
    ------
    ResourceError
        With both sizes.
    """
    frees = available_to_host(), available_to_process()
    for needed, free, limit in zip(LIBRARIES, frees, ("", " (ulimit -v)"), strict=True):
        if free < needed:
            raise ResourceError(f"hpcsolve's libraries take {size(needed)} of memory, and {size(free)} is free{limit}; "
                                "run it where more is free")


def require_free(needed: int, doing: str, largest: Callable[[int], str] | None = None) -> None:
    """Refuse something that takes more memory than is free, before it takes any.

    Parameters
    ----------
    needed
        Bytes that it takes at its peak, beside what this process has already and `OWN_CODE`.
    doing
        What takes the memory, in words: `reading 3000 cities`.
    largest
        Given the free bytes, returns the largest size that fits, in words: `1200 cities`.

    Raises
    ------
    ResourceError
        With both sizes.
    """
    free = available_memory()
    if needed + OWN_CODE > free:
        fits = f"take at most {largest(free - OWN_CODE)}, or " if largest and free > OWN_CODE else ""
        what = f"{doing} and the run's own code take {size(needed + OWN_CODE)} of memory, and {size(free)} is free"
        raise ResourceError(f"{what}; {fits}run it where more is free")


def lack_of_memory(error: BaseException | None) -> ResourceError | None:
    """Return the error to report for an exception that says that memory or threads are used up, else None.

    Libraries raise a MemoryError (also for C++'s std::bad_alloc), Qhull its own error, and the system ENOMEM.
    """
    text = " ".join(str(error).split())
    qhull = type(error).__name__ == "QhullError" and "memory" in text
    system = isinstance(error, OSError) and error.errno == errno.ENOMEM
    library = isinstance(error, (ImportError, OSError)) and any(words in text for words in _MEMORY)
    if isinstance(error, RuntimeError) and "start new thread" in text:
        return ResourceError(f"{text}: raise the limit of processes (ulimit -u, pids of the cgroup) or of memory "
                             "(ulimit -v), or take fewer threads, with threads = 1")
    if not (isinstance(error, MemoryError) or qhull or system or library):
        return None
    what = f" ({text[:200]})" if text and not qhull else ""
    return ResourceError(f"more memory is needed than is free, {size(available_memory())} now{what}: take a smaller "
                         "instance, or run it where more is free, or on more nodes")


def available_to_host() -> int:
    """Return the bytes that all ranks of this host together may still allocate, at least 0."""
    return max(0, min(_field(Path("/proc/meminfo"), "MemAvailable") * 1024, _cgroup(Path("/sys/fs/cgroup")), _slurm()))


def available_to_process() -> int:
    """Return the bytes that this process may still allocate by its own limit (ulimit -v), at least 0."""
    return max(0, _address_space())


def _cgroup(root: Path) -> int:
    """Return the bytes that the cgroups (version 2 or 1) of this process and those above still allow.

    File caches count as free.
    """
    try:
        lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return _UNLIMITED
    left = _UNLIMITED
    for _, controllers, path in lines:
        base = root if not controllers else root / "memory" if "memory" in controllers.split(",") else None
        if base is None:
            continue
        names = ("memory.max", "memory.current", "inactive_file") if not controllers else (
            "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        folder = base / path.lstrip("/")
        for group in (folder, *(parent for parent in folder.parents if parent.is_relative_to(base))):
            limit = _number(group / names[0])
            cache = _field(group / "memory.stat", names[2], default=0)
            left = min(left, limit - _number(group / names[1], default=0) + cache)
    return left


def _address_space() -> int:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return _UNLIMITED
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")
    return limit - used


def _slurm() -> int:
    """Return Slurm's limit in bytes for all tasks on the node. Slurm states MiB, and 0 for all of the node's memory."""
    if "SLURM_MEM_PER_NODE" in os.environ:
        return int(os.environ["SLURM_MEM_PER_NODE"]) * 2**20 or _UNLIMITED
    if "SLURM_MEM_PER_CPU" in os.environ:
        return int(os.environ["SLURM_MEM_PER_CPU"]) * 2**20 * int(os.environ.get("SLURM_CPUS_PER_TASK", "1")) * _tasks()
    return _UNLIMITED


def _tasks() -> int:
    """Return the number of Slurm's tasks on a node (its text is "4", or "4(x2),3" on several), or 1."""
    text = os.environ.get("SLURM_NTASKS_PER_NODE") or os.environ.get("SLURM_TASKS_PER_NODE", "1")
    return max(1, int(text.split("(")[0].split(",")[0]))


def _number(path: Path, default: int = _UNLIMITED) -> int:
    try:
        text = path.read_text().strip()
    except OSError:
        return default
    return int(text) if text.isdigit() else default


def _field(path: Path, name: str, default: int = _UNLIMITED // 1024) -> int:
    try:
        rows = (line.replace(":", " ").split() for line in path.read_text().splitlines())
        return next((int(row[1]) for row in rows if row and row[0] == name), default)
    except OSError:
        return default


def give_back_freed_memory() -> None:
    """Give memory back to the system that this process has freed, but that its C library keeps."""
    with suppress(AttributeError, OSError):  # other C libraries than glibc have no such function
        ctypes.CDLL(None).malloc_trim(0)


def resident_memory() -> int:
    """Return the bytes that this process has now, after it has given back what it has freed."""
    give_back_freed_memory()
    return _field(Path("/proc/self/status"), "VmRSS", default=0) * 1024


def peak_resident_memory() -> int:
    """Return the largest number of bytes that this process has had so far, without those of its parent."""
    own = _field(Path("/proc/self/status"), "VmHWM", default=0) * 1024
    return own or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
