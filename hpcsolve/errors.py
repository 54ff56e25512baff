"""Every error that hpcsolve raises on purpose: one line that says what is wrong and what to do, and an exit code.

Exit codes: 0 solved and verified, 1 the check of the answer failed, 2 bad input or usage, 3 refused (memory, GPUs),
4 environment (MPI launch, compiler, disk), 5 damaged checkpoint, 70 a bug of ours, 75 stopped early.
"""

from __future__ import annotations


class HpcsolveError(Exception):
    """Base of all; `exit_code` is what the command line returns for it."""

    exit_code = 70


class InputError(HpcsolveError):
    """A file, a job key or an option is wrong.

    Parameters
    ----------
    message
        What is wrong and what to do about it, one line.
    file, line
        Where, if it is in a file; lines count from 1.
    """

    exit_code = 2

    def __init__(self, message: str, file: str | None = None, line: int | None = None) -> None:
        place = "" if file is None else f"{file}: " if line is None else f"{file}:{line}: "
        super().__init__(place + message)


class ResourceError(HpcsolveError):
    """The job needs more memory, or other GPUs, than there are."""

    exit_code = 3


class EnvironmentFault(HpcsolveError):
    """The machine is not as it must be: MPI launch, compiler, driver, disk."""

    exit_code = 4


class DamagedFileError(HpcsolveError):
    """A checkpoint's or result's bytes are not what was written."""

    exit_code = 5


class LaunchError(HpcsolveError):
    """A kernel was launched with arguments that it does not take: a bug of ours."""
