"""The group `/provenance`: versions, sources, compiler, launch, and some environment variables."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import hpcsolve
from hpcsolve.answers.contents import Column, Dataset, columns
from hpcsolve.device.base import DeviceInfo
from hpcsolve.device.build import source_hash
from hpcsolve.device.declaration import source_name

PACKAGE = Path(hpcsolve.__file__).resolve().parent
ENVIRONMENT = (
    "SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_NUM_NODES", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS",
    "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT", "SLURM_JOB_PARTITION", "SLURM_CLUSTER_NAME",
    "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OMP_PLACES", "OMP_PROC_BIND", "CUDA_VISIBLE_DEVICES",
)
"""The environment variables that are stored, if they are set."""

LIBRARIES = ("numpy", "scipy", "h5py", "msgspec", "mpi4py", "pycuda")
"""The libraries whose versions are stored."""

PROVENANCE_GROUP = {
    "hpcsolve": Dataset("text", "Version of hpcsolve"),
    "source_sha256": Dataset("text", "SHA-256 of the package's Python files"),
    "git_commit": Dataset("text", "Commit of the checkout, empty outside of one"),
    "python": Dataset("text", "Version of Python"),
    "system": Dataset("text", "Operating system"),
    "mpi": Dataset("text", "MPI library of the run"),
    "compiler": Dataset("text", "Compiler of rank 0's kernels"),
    "command_line": Dataset("text", "Command line of rank 0, with ~ for the home folder"),
    **{name: Dataset("text", f"Version of {name}, empty if it is not installed") for name in LIBRARIES},
    **{name: Dataset("text", "Environment variable", optional=True) for name in ENVIRONMENT},
}
"""The group `/provenance`, except the hashes of kernel files (`kernel_dataset`)."""


def kernel_dataset(file: str) -> tuple[str, Dataset]:
    """Return name and declaration of the dataset with the hash of a kernel file."""
    described = f"SHA-256 of {source_name(file)} and the headers"
    return f"kernel_{Path(file).name}", Dataset("text", described, optional=True)


def provenance(
    info: DeviceInfo, mpi_library: str, kernel_files: Sequence[str], command: Sequence[str]
) -> dict[str, Column]:
    """Return the content of `/provenance`, one text per dataset."""
    texts = {
        "hpcsolve": hpcsolve.__version__,
        "source_sha256": package_hash(),
        "git_commit": git_commit(PACKAGE.parent),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "mpi": mpi_library,
        "compiler": info.compiler,
        "command_line": command_line(command),
        **{name: version(name) for name in LIBRARIES},
        **stored_variables(os.environ),
    }
    kernels = {name: dataset.column(source_hash(file)) for file in kernel_files
               for name, dataset in (kernel_dataset(file),)}
    return {**columns(PROVENANCE_GROUP, texts), **kernels}


def stored_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return those variables of an environment that may be stored, cut to 1000 characters."""
    return {name: environment[name][:1000] for name in ENVIRONMENT if name in environment}


def command_line(command: Sequence[str]) -> str:
    """Return the command as one would type it, with ~ for the home folder."""
    home = os.path.expanduser("~")
    shown = [word.replace(home, "~") if len(home) > 1 else word for word in command]
    return shlex.join(shown).encode(errors="replace").decode()


@cache
def version(distribution: str) -> str:
    """Return the installed version of a library, or an empty text."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


@cache  # a program may solve thousands of problems
def package_hash() -> str:
    """Return the SHA-256 of the package's Python files and their names. It reveals changes that were not committed."""
    digest = hashlib.sha256()
    found = (os.path.join(folder, name) for folder, _, names in os.walk(PACKAGE) for name in names)
    for path in sorted((path for path in found if path.endswith(".py")), key=lambda path: path.split(os.sep)):
        digest.update(os.path.relpath(path, PACKAGE).encode() + b"\0")
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def git_commit(folder: Path) -> str:
    """Return the commit that is checked out in a folder. git itself is not started, since MPI already runs."""
    try:
        head = (folder / ".git" / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        loose = folder / ".git" / name
        if loose.is_file():
            return loose.read_text().strip()
        packed = (folder / ".git" / "packed-refs").read_text().split("\n")
    except OSError:
        return ""
    return next((line.split(" ")[0] for line in packed if line.endswith(f" {name}")), "")


def started_as() -> list[str]:
    """Return the command line of this process."""
    return [Path(sys.argv[0]).name, *sys.argv[1:]]
