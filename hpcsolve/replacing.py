"""Replaces files so that there is the whole old file or the whole new one at any time, even after a kill.

New bytes go to a part file beside the file, which is synced and renamed at the end. Its name tells who writes it:
`NAME.<space>-<process>.<random>.part`, where the space stands for the host and its numbering of processes. So part
files that killed processes left are told from those of living ones, and removed when the file is written again.

Only a regular file is replaced, or a link to one. A link is replaced itself and not followed. A device, a pipe or a
folder of that name is refused: root would replace `/dev/null` for all programs of the host.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from hpcsolve.errors import EnvironmentFault, InputError

PART = re.compile(r"\.([0-9a-f]{8})-(\d+)\.[0-9a-f]{12}\.part")
"""End of a part file's name: process space, process."""


KINDS = {
    stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
"""Type of a file that is no regular one -> its name in messages."""


def require_replaceable(path: str | os.PathLike[str]) -> None:
    """Raise an `InputError` if a path exists and is neither a regular file nor a link to one."""
    name = os.fspath(path)
    try:
        found = KINDS.get(stat.S_IFMT(os.stat(name).st_mode), "")
        if not found and os.path.islink(name) and os.readlink(name).startswith("/proc/"):  # /dev/stdout
            found = "a link to an open file of a process"
    except (OSError, ValueError):  # there is no such file, or writing it will say what is wrong
        return
    if found:
        raise InputError(f"is {found}, and only regular files are written; choose another output", name)


def require_new(path: str | os.PathLike[str], overwrite: bool, way_out: str = "give overwrite=True") -> None:
    """Raise an `InputError` if a file exists and `overwrite` is False, or is no regular file."""
    require_replaceable(path)
    if os.path.exists(path) and not overwrite:
        raise InputError(f"the file exists; choose another one, or {way_out}", os.fspath(path))


def open_regular(path: Path, own: bool = False) -> BinaryIO:
    """Open a file to read it, unless others may have put something else in its place.

    Raises
    ------
    OSError
        It cannot be opened, is a link or no regular file (a pipe would be waited for), or it is not the user's `own`.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or (own and status.st_uid != os.geteuid()):
        os.close(handle)
        raise OSError(errno.EINVAL, "is no regular file" if not own else "is not a file of this user")
    return open(handle, "rb")


def write_bytes(path: Path, content: bytes) -> None:
    """Write these bytes to a file, which may exist. Raises as `replacing`."""
    with replacing(path) as part, open(part, "xb") as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Provide the path of a part file, which the block makes and which then replaces the file.

    Raises
    ------
    InputError
        A device, a pipe or a folder has this name.
    EnvironmentFault
        The disk is full, read-only, ... An older file of that name is left as it was.
    """
    require_replaceable(path)
    part = _part(path)
    try:
        with _removed_on_error(part):
            yield part
            wait_for_disk(part)
            require_replaceable(path)  # it may have been made meanwhile
            os.replace(part, path)
    except OSError as error:
        raise EnvironmentFault(f"{path}: cannot be written: {error.strerror}; {way_out(error, 'file')}") from None
    with suppress(OSError):  # not every file system can sync a folder, and the file is in place already
        wait_for_disk(path.parent)


def way_out(error: OSError, what: str) -> str:
    """Return what to do about a file that cannot be written, where another `what` can be chosen."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return f"free some space, or choose another {what}" if full else f"choose another {what}"


def make_folder(path: Path) -> None:
    """Make the folder of an output file, make sure that it can be written, and remove part files of killed processes.

    Raises
    ------
    InputError
        As `replacing`.
    EnvironmentFault
        The folder cannot be made, or no file can be made in it.
    """
    require_replaceable(path)
    probe = _part(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _removed_on_error(probe):
            probe.touch(exist_ok=False)
            probe.unlink()
        remove_dead_parts(path)
    except OSError as error:
        reason = "" if error.errno == errno.ENOENT else f": {error.strerror}"  # /proc says so of files in it
        what = f"no file can be made in this folder{reason}; choose another --output"
        raise EnvironmentFault(f"{path.parent}: {what}") from None


def remove_dead_parts(path: Path) -> None:
    """Remove the part files and private folders of a path that processes of this host left when they were killed."""
    for part in path.parent.iterdir():
        found = PART.fullmatch(part.name[len(path.name) :]) if part.name.startswith(path.name) else None
        if found and found[1] == _process_space() and not _lives(int(found[2])):
            if part.is_dir():
                shutil.rmtree(part, ignore_errors=True)
            else:
                part.unlink(missing_ok=True)


@contextmanager
def private_folder(path: Path) -> Iterator[Path]:
    """Provide a new folder beside a path, closed to other users, which is removed after the block. Raises `OSError`.

    Folders that killed processes of this host left there are removed first.
    """
    remove_dead_parts(path)
    folder = _part(path)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _part(path: Path) -> Path:
    """Return the path of a new part file beside a file. No other process uses it, so this one may remove it."""
    return path.with_name(f"{path.name}.{_process_space()}-{os.getpid()}.{os.urandom(6).hex()}.part")


def _process_space() -> str:
    """Return eight digits that stand for the host and its PID namespace, since containers count their own processes."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return hashlib.sha256(f"{os.uname().nodename} {namespace}".encode()).hexdigest()[:8]


def _lives(process: int) -> bool:
    """Return whether a process of this host can still write.

    A zombie cannot. It has ended, and its parent has not asked for its exit code yet, which some containers never do.
    """
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it lives, and belongs to somebody else
        return True
    with suppress(OSError, IndexError):
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    return True


def wait_for_disk(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _removed_on_error(part: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        part.unlink(missing_ok=True)
        raise
