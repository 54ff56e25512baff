"""Finds the kernels that `hpcsolve build` has compiled for this host's CPU or GPU, on this or another host.

Each target (`znver4`, `sm_90`) has a folder in the cache, with all kernels and a description. Its name consists of the
target and a hash of sources and options. It does not depend on the host that compiled, so compute nodes need no
compiler. A folder for a CPU is used where the CPU has every feature that the compiler took for granted.
"""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

import msgspec

DESCRIPTION = "target.json"
CPU_FEATURE = re.compile(r"avx(?!256)\w*|sse4\.[12]|fma|bmi2?|lzcnt|popcnt|movbe|f16c|adx")
"""Options of g++ that let it use instructions which older x86 processors lack."""
LINUX_NAMES = {"bmi": "bmi1", "lzcnt": "abm"}
"""Features of which Linux has another name than g++: g++'s and Linux's, both without separators."""


class Target(msgspec.Struct, frozen=True):
    """What kernels were compiled for.

    Attributes
    ----------
    name
        `znver4`, `sm_90`: a CPU as g++ names it, or the architecture of a GPU.
    compiler
        What the compiler says of its version, in one line.
    machine
        Instruction set of the CPU (`x86_64`); for a GPU that of the host, which does not matter.
    features
        Features of the CPU that the code may use, as `features_of_this_cpu` writes them.
    """

    name: str
    compiler: str
    machine: str
    features: tuple[str, ...] = ()

    def runs_here(self) -> bool:
        """Return whether this CPU has what the code may use."""
        return self.machine == platform.machine() and set(self.features) <= features_of_this_cpu()


@dataclass(frozen=True)
class Ready:
    """A target with the folder of its kernels."""

    target: Target
    folder: Path

    def path(self, file: str) -> Path:
        """Return the path of the code of a file of cuda_src."""
        return self.folder / kernel_name(file, self.target.name)


def kernel_name(file: str, target: str) -> str:
    """Return the name of the compiled form of a file of cuda_src for a target."""
    return file.replace("/", "-") + (".cubin" if target.startswith("sm_") else ".so")


def folder_name(target: str, key: str) -> str:
    """Return the name of a target's folder. `key` stands for sources and options."""
    return f"target-{target}-{key}"


def find(cache: Path, key: str, architecture: str) -> Ready | None:
    """Return the kernels for a GPU's architecture, or for this CPU if that is empty, or None if there are none.

    Of several that this CPU can run, the kernels with the most features are returned.
    """
    names = [folder_name(architecture, key)] if architecture else _names(cache, key)
    found = [Ready(target, cache / name) for name in names
             if (target := _read(cache / name)) is not None and _is_for(target, architecture)]
    return max(found, key=lambda ready: len(ready.target.features), default=None)


def _names(cache: Path, key: str) -> list[str]:
    """Return the names of the folders of all targets with this key."""
    # Path.glob takes far longer in a cache of many kernels.
    begin, end = folder_name("", key).split("--")
    return sorted(name for name in os.listdir(cache) if name.startswith(f"{begin}-") and name.endswith(f"-{end}"))


def _is_for(target: Target, architecture: str) -> bool:
    if architecture:
        return target.name == architecture
    return not target.name.startswith("sm_") and target.runs_here()


def _read(folder: Path) -> Target | None:
    """Return the description in a folder that belongs to this user, or None if there is none."""
    try:
        if folder.stat().st_uid != os.geteuid():
            return None
        return msgspec.json.decode((folder / DESCRIPTION).read_bytes(), type=Target)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # the last: nested too deep
        return None


def write(folder: Path, target: Target) -> None:
    """Write the description of a target into its folder."""
    (folder / DESCRIPTION).write_bytes(msgspec.json.encode(target))


def features_in(options: str) -> tuple[str, ...]:
    """Return the features of a CPU that g++ uses, from what `g++ -march=NAME -Q --help=target` prints."""
    enabled = re.findall(r"^\s*-m(\S+)\s+\[enabled\]", options, re.M)
    return tuple(sorted(_plain(name) for name in enabled if CPU_FEATURE.fullmatch(name)))


def features_of_this_cpu() -> frozenset[str]:
    """Return the features that Linux sees, without the separators in their names."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    line = re.search(r"^flags\s*:(.*)$", text, re.M)
    return frozenset(_plain(name) for name in line[1].split()) if line else frozenset()


def _plain(name: str) -> str:
    """Return the name of a feature as Linux has it, without separators."""
    plain = re.sub(r"[._-]", "", name)
    return LINUX_NAMES.get(plain, plain)
