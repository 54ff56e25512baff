"""How much memory this process may still allocate, by the machine, cgroups, Slurm and ulimit."""

from __future__ import annotations

import ctypes
import os
import resource
from contextlib import suppress
from pathlib import Path

_UNLIMITED = 1 << 60


def available_memory() -> int:
    """Return the bytes that this process may still allocate, at least 0.

    The tasks on a node share Slurm's limit equally.
    """
    return max(0, min(available_to_host(), available_to_process(), _slurm() // _tasks()))


def available_to_host() -> int:
    """Return the bytes that all ranks of this host together may still allocate, at least 0."""
    return max(0, min(_machine(), _cgroup(Path("/sys/fs/cgroup")), _slurm()))


def available_to_process() -> int:
    """Return the bytes that this process may still allocate by its own limit (ulimit -v), at least 0."""
    return max(0, _address_space())


def _machine() -> int:
    return _field(Path("/proc/meminfo"), "MemAvailable") * 1024


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
