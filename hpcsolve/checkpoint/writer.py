"""Writes generations: a data file on each rank, then the manifest on rank 0."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import hpcsolve
from hpcsolve.checkpoint import store
from hpcsolve.checkpoint.lease import Lease
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.state import State
from hpcsolve.errors import EnvironmentFault, InputError, agree
from hpcsolve.parallel.comm import Comm
from hpcsolve.replacing import way_out


class Writer:
    """Writes the checkpoints of a run into a folder. The constructor is collective.

    Parameters
    ----------
    lease
        The lease of the folder on rank 0, else None.
    job
        The hash of the job and its instance.
    saved
        The generation from which this run goes on, or None.
    """

    def __init__(self, folder: Path, comm: Comm, lease: Lease | None, job: str, saved: Saved | None) -> None:
        self.folder, self._comm, self._lease, self._job = folder, comm, lease, job
        self._kept = [saved.manifest] if saved else []
        last = max(store.generations(folder), default=0) if comm.rank == 0 else 0
        self._token, self._generation = comm.bcast((lease.token if lease else "", last))

    @property
    def has_any(self) -> bool:
        """Whether there is a generation to go on from."""
        return bool(self._kept)

    def write(self, state: State) -> None:
        """Write a generation, unless the last one has the same numbers, in which different states differ. Collective.

        Raises
        ------
        LeaseLost
            A later run of the job has taken over.
        EnvironmentFault
            The disk is full, the manifest's name is taken, ... The generations before remain.
        """
        if self._comm.bcast(bool(self._kept) and self._kept[-1].numbers == state.numbers):
            return
        self._generation += 1
        name = store.data_name(self._generation, self._token, self._comm.rank)
        fault, file = None, None
        try:
            file = store.write_data(self.folder, name, state.parts)
        except OSError as error:
            fault = _fault(self.folder, error)
            with suppress(OSError):  # the first fault is the one to report
                (self.folder / name).unlink()
        agree(self._comm, fault)
        files = self._comm.allgather(file)
        manifest = store.Manifest(self._job, hpcsolve.__version__, self._generation, dict(state.numbers), state.words,
                                  tuple(file for file in files if file is not None))
        manifest = self._comm.bcast(manifest)
        agree(self._comm, self._commit(manifest) if self._comm.rank == 0 else None)
        self._kept = [*self._kept, manifest][-store.KEPT :]
        if self._comm.rank == 0:
            with suppress(OSError):  # tried again after the next checkpoint
                store.forget(self.folder, self._kept)

    def _commit(self, manifest: store.Manifest) -> EnvironmentFault | None:
        """Write the manifest, and return the fault if that failed."""
        try:
            self.require_lease()
            for file in manifest.files:
                if (self.folder / file.name).stat().st_size != file.size:
                    return EnvironmentFault(f"{self.folder / file.name}: its size is not that of what was written; "
                                            "choose another --checkpoint-dir")
            store.write_manifest(self.folder, manifest)
        except FileNotFoundError:
            return EnvironmentFault(f"{self.folder} is not the same folder on all hosts; choose another one with "
                                    "--checkpoint-dir")
        except OSError as error:
            return _fault(self.folder, error)
        except InputError:  # which is no mistake in the job, and must not end it
            return EnvironmentFault(f"{self.folder}: what is no regular file has the name of the next manifest; choose "
                                    "another --checkpoint-dir")
        except EnvironmentFault as fault:
            return fault
        return None

    def require_lease(self) -> None:
        """Raise `LeaseLost` if a later run of the job has taken over. Called on rank 0."""
        if self._lease is not None:
            self._lease.require()


def remove_checkpoints(folder: Path, warn: Callable[[str], None]) -> None:
    """Remove all checkpoints in a folder. Called on rank 0."""
    try:
        store.remove(folder)
    except OSError as error:
        warn(f"hpcsolve: {folder}: cannot be removed: {error.strerror}; remove it yourself")


def _fault(folder: Path, error: OSError) -> EnvironmentFault:
    return EnvironmentFault(f"{folder}: {error.strerror}; {way_out(error, '--checkpoint-dir')}")
