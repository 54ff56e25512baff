"""Compiles files of cuda_src at run time, for the CPU with g++ and for a GPU with nvcc, and caches the results.

The cache is the user's own folder (HPCSOLVE_CACHE, else XDG_CACHE_HOME/hpcsolve, else ~/.cache/hpcsolve), closed to
others. An entry's name is a hash of everything that the machine code depends on: source, headers, command, compiler
version, CPU features. Kernels that `hpcsolve build` has made for this kind of CPU or GPU are preferred, and need
no compiler (targets.py). An entry is made with its SHA-256 in a folder of its own and renamed, under a lock, so that
one of many ranks on a node builds it and the others wait and load it. An entry whose bytes do not match its SHA-256 is
built again, never loaded.

Everything here starts processes, which must not happen after MPI_Init. So what a run needs is built before MPI starts
(runner/ahead.py), and the results are kept for later calls.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hpcsolve.device import compiler, targets
from hpcsolve.device.compiler import (
    compiler_identity,
    cuda_compiler,
    host_compiler,
    target_features,
    version_line,
)
from hpcsolve.device.source import source_name
from hpcsolve.errors import EnvironmentFault
from hpcsolve.replacing import private_folder

HOST_FLAGS = "-x c++ -std=c++17 -O3 -march=native -fopenmp -ffp-contract=off -fPIC -shared -Wno-psabi"
"""`-ffp-contract=off` gives the same floating-point results as on any other device."""
NEEDED_FLAGS = ("-x c++", "-fPIC", "-shared")
"""Without these, a compiler makes no library of a kernel file."""
CUDA_FLAGS = "-cubin -std=c++17 -O3 --fmad=false"
NVCC_SETTINGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN")
"""Variables of the environment that nvcc reads: options, and the C++ compiler that it calls (its option -ccbin)."""
SECONDS_BETWEEN_TRIES = 0.02
"""Time between two looks at a lock that another process has."""


@dataclass(frozen=True)
class Code:
    """The machine code of a file of cuda_src for a GPU architecture (`sm_90`), or for this CPU if that is empty.

    A file is named without its suffix: `paths/tile`, `host/ruin`.
    """

    file: str
    architecture: str = ""

    @property
    def compiler(self) -> str:
        """The command of the compiler that makes it."""
        return cuda_compiler() if self.architecture else host_compiler()


def source_folder() -> Path:
    """Return the folder of the kernels, which is inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "cuda_src", package.parent / "cuda_src"):
        if (folder / "device" / "device.cuh").is_file():
            return folder
    raise EnvironmentFault(f"no kernel sources (cuda_src) in {package} or beside it: install hpcsolve again")


@functools.cache
def host_library(file: str) -> Path:
    """Return the shared library of a file of cuda_src for this CPU, which is built if it is not in the cache.

    Raises
    ------
    EnvironmentFault
        There is no compiler, or it failed. The message has its first error.
    """
    return _cached(Code(file))


@functools.cache
def cubin(file: str, architecture: str) -> bytes:
    """Return the GPU code of a file of cuda_src for an architecture (`sm_90`). It is built if it is not cached."""
    return _cached(Code(file, architecture)).read_bytes()


def is_built(code: Code) -> bool:
    """Return whether the cache has this code. Raises as `host_library`."""
    return _prebuilt(code) is not None or _intact(_entry(code))


def build(code: Code) -> None:
    """Build this code if it is not in the cache, and remember it for later calls. Raises as `host_library`."""
    if code.architecture:
        cubin(code.file, code.architecture)
    else:
        host_library(code.file)


def cache_folder() -> Path:
    """Return the user's own folder of compiled kernels, which is made if need be.

    Raises
    ------
    EnvironmentFault
        The folder belongs to another user, or others may write to it, or everybody may replace a folder above it, so
        its content cannot be trusted.
    """
    folder = _cache_name()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        replaceable = [str(above) for above in folder.resolve().parents if _is_free_for_all(above)]
    except OSError as error:
        raise EnvironmentFault(f"{folder}: {error.strerror}; name a folder of your own in HPCSOLVE_CACHE") from None
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise EnvironmentFault(f"{folder} is not yours, or others can write to it: name another in HPCSOLVE_CACHE")
    if replaceable:
        raise EnvironmentFault(f"{folder}: everybody may rename what is in {replaceable[0]}: name another folder in "
                               "HPCSOLVE_CACHE")
    return folder


def _is_free_for_all(folder: Path) -> bool:
    """Return whether every user may rename what is in a folder. In /tmp only owners may: its sticky bit is set."""
    mode = folder.stat().st_mode
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX


def _cache_name() -> Path:
    named = os.environ.get("HPCSOLVE_CACHE")
    try:
        return Path(named or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hpcsolve")
    except RuntimeError:  # no HOME, and the user is not in the system's user database
        raise EnvironmentFault("there is no home folder: name a folder of your own in HPCSOLVE_CACHE") from None


def source_hash(file: str) -> str:
    """Return the SHA-256 of a file of cuda_src and of every header."""
    folder = source_folder()
    return hashlib.sha256(_with_names(folder, [folder / source_name(file)]) + headers(folder)).hexdigest()


@functools.cache  # they are part of the hash of each kernel file
def headers(folder: Path) -> bytes:
    """Return the content of every header, each after its name."""
    return _with_names(folder, sorted([*folder.rglob("*.cuh"), *folder.rglob("*.hpp")]))


def _with_names(folder: Path, paths: Iterable[Path]) -> bytes:
    """Return the content of source files, each after its name."""
    return b"".join(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() for path in paths)


def _cached(code: Code) -> Path:
    prebuilt = _prebuilt(code)
    if prebuilt is not None:
        return prebuilt
    entry = _entry(code)
    if not _intact(entry):
        ends = time.monotonic() + compiler.SECONDS
        with _lock(entry.with_suffix(".lock"), ends):
            if not _intact(entry):
                try:
                    compile_file(code.file, _command(code), entry, ends)
                except EnvironmentFault as fault:
                    raise EnvironmentFault(f"{fault}{'' if code.architecture else about_flags()}") from None
    return entry


def _prebuilt(code: Code) -> Path | None:
    """Return the path of this code if `hpcsolve build` has made it."""
    ready = ready_target(code.architecture)
    path = ready.path(code.file) if ready else None
    return path if path is not None and _intact(path) else None


def ready_target(architecture: str) -> targets.Ready | None:
    """Return what `hpcsolve build` has made for a GPU architecture, or for this CPU if that is empty.

    None if it has made nothing, or if HPCSOLVE_CXXFLAGS is set: those kernels were not compiled with these options.
    """
    if not architecture and "HPCSOLVE_CXXFLAGS" in os.environ:
        return None
    return targets.find(cache_folder(), target_key(), architecture)


def compiler_line(architecture: str = "") -> str:
    """Return in one line the compiler of the kernels for a GPU or this CPU. Raises as `compiler.compiler_identity`."""
    ready = ready_target(architecture)
    if ready:
        return f"{ready.target.compiler}, for {ready.target.name}"
    return version_line(cuda_compiler() if architecture else host_compiler())


@functools.cache
def target_key() -> str:
    """Return a hash of all kernel sources and options."""
    folder = source_folder()
    sources = _with_names(folder, sorted([*folder.rglob("*.cu"), *folder.rglob("*.cpp")])) + headers(folder)
    return hashlib.sha256(f"{HOST_FLAGS}\0{CUDA_FLAGS}".encode() + sources).hexdigest()[:16]


def _entry(code: Code) -> Path:
    """Return the path of the code in the cache."""
    parts = [source_hash(code.file), *_command(code), compiler_identity(code.compiler)]
    if code.architecture:
        parts += [f"{name}={os.environ[name]}" for name in NVCC_SETTINGS if os.environ.get(name)]
    else:
        parts.append(target_features(code.compiler))
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    return cache_folder() / f"{Path(code.file).name}-{key}{'.cubin' if code.architecture else '.so'}"


def _command(code: Code) -> list[str]:
    """Return the compiler's command without input and output.

    Raises
    ------
    EnvironmentFault
        The user's own options cannot make a library.
    """
    if code.architecture:
        return [code.compiler, *CUDA_FLAGS.split(), f"-arch={code.architecture}"]
    flags = os.environ.get("HPCSOLVE_CXXFLAGS", HOST_FLAGS).split()
    given = f" {' '.join(flags)} ".replace("-xc++", "-x c++").lower()
    missing = [flag for flag in NEEDED_FLAGS if f" {flag.lower()} " not in given]
    if missing:
        raise EnvironmentFault(f"HPCSOLVE_CXXFLAGS lacks {', '.join(missing)}{about_flags()}")
    return [code.compiler, *flags]


def about_flags() -> str:
    """Return the end of a message about compiled kernels: what HPCSOLVE_CXXFLAGS must be, if it is set, or ""."""
    if "HPCSOLVE_CXXFLAGS" not in os.environ:
        return ""
    return f'; HPCSOLVE_CXXFLAGS stands in place of hpcsolve\'s options: unset it, or change "{HOST_FLAGS}"'


def _intact(entry: Path) -> bool:
    try:
        owner, digest = entry.stat().st_uid, _checksum_file(entry).read_text()
        return owner == os.geteuid() and digest == hashlib.sha256(entry.read_bytes()).hexdigest()
    except OSError:
        return False


def _checksum_file(entry: Path) -> Path:
    return entry.with_name(entry.name + ".sha256")


@contextmanager
def _lock(path: Path, ends: float) -> Iterator[None]:
    """Lock a file while the block runs. Raises `EnvironmentFault` if another process still has the lock at the end."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    except OSError as error:
        raise EnvironmentFault(f"{path.parent}: {error.strerror}; name another folder in HPCSOLVE_CACHE") from None
    try:
        while not _locked(descriptor):
            compiler.require_going_on()
            if time.monotonic() > ends:
                raise EnvironmentFault(f"{path}: another process has been compiling for {compiler.SECONDS:.0f} s; end "
                                       "it, or name another folder in HPCSOLVE_CACHE")
            time.sleep(SECONDS_BETWEEN_TRIES)
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Try to lock a file, and return whether this process has the lock now."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def compile_file(file: str, command: list[str], entry: Path, ends: float | None = None) -> None:
    """Compile a file of cuda_src, and write the result and its SHA-256. Raises as `host_library`.

    Parameters
    ----------
    ends
        When the compiler must have ended, on the clock `time.monotonic`; None: `compiler.SECONDS` from now.
    """
    folder = source_folder()
    try:
        with private_folder(entry.with_name("compiling")) as own:
            part = own / entry.name
            words = [*command, "-I", str(folder), str(folder / source_name(file)), "-o", str(part)]
            seconds = compiler.SECONDS if ends is None else ends - time.monotonic()
            compiler.compile_with(words, source_name(file), part, seconds)
            _checksum_file(part).write_text(hashlib.sha256(part.read_bytes()).hexdigest())
            os.replace(_checksum_file(part), _checksum_file(entry))
            os.replace(part, entry)
    except OSError as error:
        raise EnvironmentFault(f"{entry.parent}: {error.strerror}; name another folder in HPCSOLVE_CACHE") from None
