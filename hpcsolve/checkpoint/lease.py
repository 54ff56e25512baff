"""The lease of a checkpoint folder: the last run that began with it may write, an older one must end.

A scheduler may start a job again while the first one lives on, on a host that the network no longer reaches. Each run
writes a random token into the folder when it begins, and reads it again before it writes anything else.
"""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path

import msgspec

from hpcsolve.checkpoint.store import opened
from hpcsolve.errors import EnvironmentFault
from hpcsolve.replacing import write_bytes

NAME = "lease"
LARGEST = 1 << 16
"""Most bytes of a lease."""
SLURM = ("SLURM_JOB_ID", "SLURM_RESTART_COUNT")


class LeaseLost(EnvironmentFault):
    """A later run of the same job has taken over the checkpoint folder."""


class LeaseGone(LeaseLost):
    """The checkpoint folder has no lease: another run has ended and removed it, or somebody else did."""


class Owner(msgspec.Struct, frozen=True):
    """The run that has the lease.

    Attributes
    ----------
    slurm
        The variables `SLURM` of its Slurm job, if it is part of one.
    """

    token: str
    host: str
    process: int
    slurm: dict[str, str]

    def __str__(self) -> str:
        """Return one line for messages: "process 12 on node7 (Slurm job 34, restart 1)"."""
        job, restart = (self.slurm.get(name, "") for name in SLURM)
        where = f" (Slurm job {job}{f', restart {restart}' if restart else ''})" if job else ""
        return " ".join(f"process {self.process} on {self.host}{where}".split())


@dataclass(frozen=True)
class Lease:
    """A lease that this run has taken."""

    folder: Path
    token: str

    def require(self) -> None:
        """Raise `LeaseLost` unless this run still has the lease, `LeaseGone` if no run has it."""
        owner = _owner(self.folder / NAME)
        if owner is None:
            raise LeaseGone(f"{self.folder}: the lease of this run is gone: another run of this job has ended, or the "
                            "folder was removed")
        if owner.token != self.token:
            raise LeaseLost(f"{self.folder}: another run of this job, {owner}, has taken over; this one ends")


def take_lease(folder: Path) -> Lease:
    """Take the lease of a folder, which is made if need be, from any run that has it. Raises `EnvironmentFault`."""
    token = secrets.token_hex(8)
    slurm = {name: os.environ[name] for name in SLURM if name in os.environ}
    owner = Owner(token, socket.gethostname(), os.getpid(), slurm)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(folder / NAME, msgspec.json.encode(owner))
    except OSError as error:
        raise EnvironmentFault(f"{folder}: no checkpoint can be written: {error.strerror}; choose another "
                               "--checkpoint-dir, or --checkpoint-interval never") from None
    return Lease(folder, token)


def _owner(path: Path) -> Owner | None:
    try:
        with opened(path) as file:
            return msgspec.json.decode(file.read(LARGEST), type=Owner)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # the last: nested too deep
        return None
