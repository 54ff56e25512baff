"""The errors that hpcsolve raises on purpose. Each has an exit code, and a message that says what to do.

Exit codes: 0 solved and verified, 1 the check of the answer failed, 2 bad input or usage, 3 refused (memory, GPUs),
4 environment (MPI launch, compiler, disk, a rank that hangs), 5 damaged file, 70 a bug in hpcsolve, 75 stopped early,
with the best answer or a checkpoint written, 130 interrupted at once (Ctrl-C).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol

from hpcsolve.wording import visible


class HpcsolveError(Exception):
    """Base class of all errors that hpcsolve raises on purpose. The command line ends with `exit_code`."""

    exit_code = 70

    def __init__(self, message: str = "") -> None:
        super().__init__(visible(" ".join(message.splitlines())))  # a name from a file may have a line's end in it

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows in a notebook: the user's own line and the message, without our frames."""
        return in_notebooks(self)


def in_notebooks(error: BaseException) -> list[str]:
    """Return the lines of an error for IPython: the line that called hpcsolve, and the message.

    An error that is a bug of ours (exit code 70) has its whole traceback.
    """
    import traceback
    from pathlib import Path

    if isinstance(error, HpcsolveError) and error.exit_code == HpcsolveError.exit_code:
        return "".join(traceback.format_exception(error)).splitlines()
    here = Path(__file__).parent
    frames = traceback.extract_tb(error.__traceback__)
    ours = next((number for number, frame in enumerate(frames) if Path(frame.filename).is_relative_to(here)), 0)
    called = [f"line {frame.lineno}: {frame.line}" for frame in frames[:ours][-1:] if frame.line]
    return [*called, f"{type(error).__name__}: {error}"]


class InputError(HpcsolveError):
    """A file, a job key or an option is wrong.

    Parameters
    ----------
    message
        What is wrong and what to do about it, in one line.
    file, line
        File and line of the mistake, if it is in a file. Lines count from 1.
    """

    exit_code = 2

    def __init__(self, message: str, file: str | None = None, line: int | None = None) -> None:
        where = "" if file is None else f"{file}: " if line is None else f"{file}:{line}: "
        super().__init__(where + message)


class ResourceError(HpcsolveError):
    """The job needs more memory, or more or other GPUs, than there are."""

    exit_code = 3


class NoAnswer(ResourceError):
    """A search has ended without an answer, and without a proof that there is none."""


class EnvironmentFault(HpcsolveError):
    """The MPI launch, the compiler, the GPU driver or the disk does not work as it must."""

    exit_code = 4


class NotWritten(EnvironmentFault):
    """The answer of a run could not be written to its output. The message says where it is instead.

    Attributes
    ----------
    result
        In a Python program, the `hpcsolve.Result` on every rank; else None.
    """

    result: Any = None


class DamagedFileError(HpcsolveError):
    """A result file does not hold what hpcsolve wrote."""

    exit_code = 5


class Stopped(HpcsolveError):
    """The run was asked to stop, and its checkpoint is written. It has no answer yet."""

    exit_code = 75


class LaunchError(HpcsolveError):
    """A kernel was launched with arguments that it does not take, or a host function failed: a bug in hpcsolve."""


def path_text(given: Any, what: str) -> str:
    """Return a path that a Python program gave, as text. Raises an `InputError`, which names `what`, if it is none."""
    try:
        return os.fsdecode(given)
    except TypeError:
        raise InputError(f"{what}: expected a path (text or os.PathLike), got {type(given).__name__}") from None


class Gathering(Protocol):
    """The part of a communicator, such as `parallel.comm.Comm`, that `agree` needs."""

    def allgather(self, value: HpcsolveError | None) -> Sequence[HpcsolveError | None]:
        """Return every rank's value in rank order, on every rank."""


def agree(comm: Gathering, error: HpcsolveError | None) -> None:
    """Raise the error of the lowest rank that has one, on every rank. Collective.

    Parameters
    ----------
    error
        What this rank found wrong, or None.
    """
    for found in comm.allgather(error):
        if found is not None:
            raise found
