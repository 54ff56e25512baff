"""Machine code of the files of cuda_src, for the CPU and for a GPU: found in the cache, or compiled now.

A wheel for a kind of machine (`make wheel`) has kernels that were compiled beforehand, in the package, for one or two
kinds of CPUs (`shipped_folder`). They are targets, as below, and need neither a compiler nor its libraries. They are
valid for the very sources and options that they were compiled with: their folder's name says it.

The cache is the user's own folder (HPCSOLVE_CACHE, else XDG_CACHE_HOME/hpcsolve, else ~/.cache/hpcsolve), closed to
others. It has two kinds of content.

- Targets. `hpcsolve build` compiles all kernels for a kind of CPU or GPU (`znver4`, `sm_90`), on this or another host,
  into a folder with a description. Its name consists of the target and a hash of sources and options. It does not
  depend on the host that compiled, so compute nodes need no compiler. A folder for a CPU is used where the CPU has
  every feature that the compiler took for granted. Targets are preferred to entries, and of several targets, shipped
  ones too, the one with the most features is taken.
- Entries. What a run lacks is compiled at run time, with g++ for the CPU and nvcc for a GPU. An entry's name is a hash
  of everything that the machine code depends on: source, headers, command, compiler version, CPU features. An entry is
  made with its SHA-256 in a folder of its own and renamed, under a lock, so that one of many ranks on a node builds it
  and the others wait and load it. An entry whose bytes do not match its SHA-256 is built again, never loaded.

Everything here starts processes, which must not happen after MPI_Init. So what a run needs is built before MPI starts
(runner/ahead.py), and the results are kept for later calls.
"""

from __future__ import annotations

import errno
import fcntl
import functools
import hashlib
import os
import platform
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from hpcsolve.device import compiler
from hpcsolve.device.declaration import source_name
from hpcsolve.errors import EnvironmentFault, InputError
from hpcsolve.replacing import private_folder

HOST_FLAGS = "-x c++ -std=c++17 -O3 -march=native -fopenmp -ffp-contract=off -fPIC -shared -Wno-psabi"
"""`-ffp-contract=off` gives the same floating-point results as on any other device."""
LITTLE_TO_GAIN = ("host/first_tour", "host/near_cities", "host/near_clusters")
"""Files that are as fast with -O2, which takes two thirds of the time to compile them."""
SHIPPED_FLAGS = "-static-libstdc++ -Wl,--gc-sections -Wl,--exclude-libs,ALL -Wl,-rpath,$ORIGIN/.. -s"
"""Further options for kernels in a wheel. They have their part of libstdc++ in them, and find libgomp in the folder
above. There is one libgomp for all, since all libraries of a process must share its threads."""
NEEDED_FLAGS = ("-x c++", "-fPIC", "-shared")
"""Without these, a compiler makes no library of a kernel file."""
CUDA_FLAGS = "-cubin -std=c++17 -O3 --fmad=false"
NVCC_SETTINGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN")
"""Variables of the environment that nvcc reads: options, and the C++ compiler that it calls (its option -ccbin)."""
NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
"""Errors of `flock` on file systems that have no locks."""
SECONDS_BETWEEN_TRIES = 0.02
"""Time between two looks at a lock that another process has."""
TARGET = "target"
"""The names of folders of targets begin with it."""
DESCRIPTION = "target.json"
CPU_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
GPU_NAME = re.compile(r"sm_\d{2,3}[af]?")
CPU_FEATURE = re.compile(r"avx(?!256)\w*|sse4\.[12]|fma|bmi2?|lzcnt|popcnt|movbe|f16c|adx")
"""Options of g++ that let it use instructions which older x86 processors lack."""
LINUX_NAMES = {"bmi": "bmi1", "lzcnt": "abm"}
"""Features of which Linux has another name than g++: g++'s and Linux's, both without separators."""


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
        return compiler.cuda_compiler() if self.architecture else compiler.host_compiler()

    def is_built(self) -> bool:
        """Return whether the cache has this code. Raises as `host_library`."""
        return self._prebuilt() is not None or _intact(self._entry())

    def path(self) -> Path:
        """Return the path of this code, which is built if it is not in the cache. Raises as `host_library`."""
        prebuilt = self._prebuilt()
        if prebuilt is not None:
            return prebuilt
        entry = self._entry()
        if not _intact(entry):
            ends = time.monotonic() + compiler.SECONDS
            with _lock(entry.with_suffix(".lock"), ends):
                if not _intact(entry):
                    try:
                        compile_file(self.file, self._command(), entry, ends)
                    except EnvironmentFault as fault:
                        raise EnvironmentFault(f"{fault}{'' if self.architecture else about_flags()}") from None
        return entry

    def _prebuilt(self) -> Path | None:
        """Return the path of this code if `hpcsolve build` has made it, or a wheel has it."""
        ready = ready_target(self.architecture)
        path = ready.path(self.file) if ready else None
        return path if ready and path and _intact(path, ready.is_shipped) else None

    def is_damaged_in_wheel(self) -> bool:
        """Return whether a wheel has code for this CPU, but lacks this one or has other bytes of it."""
        ready = ready_target(self.architecture)
        return ready is not None and ready.is_shipped and not _intact(ready.path(self.file), is_shipped=True)

    def _entry(self) -> Path:
        """Return the path of the code in the cache."""
        parts = [source_hash(self.file), *self._command(), compiler.compiler_identity(self.compiler)]
        if self.architecture:
            parts += [f"{name}={os.environ[name]}" for name in NVCC_SETTINGS if os.environ.get(name)]
        else:
            parts.append(compiler.target_features(self.compiler))
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
        return cache_folder() / f"{Path(self.file).name}-{key}{'.cubin' if self.architecture else '.so'}"

    def _command(self) -> list[str]:
        """Return the compiler's command without input and output.

        Raises
        ------
        EnvironmentFault
            The user's own options cannot make a library.
        """
        if self.architecture:
            return [self.compiler, *CUDA_FLAGS.split(), f"-arch={self.architecture}"]
        flags = os.environ.get("HPCSOLVE_CXXFLAGS", host_flags(self.file)).split()
        given = f" {' '.join(flags)} ".replace("-xc++", "-x c++").lower()
        missing = [flag for flag in NEEDED_FLAGS if f" {flag.lower()} " not in given]
        if missing:
            raise EnvironmentFault(f"HPCSOLVE_CXXFLAGS lacks {', '.join(missing)}{about_flags()}")
        return [self.compiler, *flags]


@functools.cache
def host_library(file: str) -> Path:
    """Return the shared library of a file of cuda_src for this CPU, which is built if it is not in the cache.

    Raises
    ------
    EnvironmentFault
        There is no compiler, or it failed. The message has its first error.
    """
    return Code(file).path()


@functools.cache
def cubin(file: str, architecture: str) -> bytes:
    """Return the GPU code of a file of cuda_src for an architecture (`sm_90`). It is built if it is not cached."""
    return Code(file, architecture).path().read_bytes()


def build(code: Code) -> None:
    """Build this code if it is not in the cache, and remember it for later calls. Raises as `host_library`."""
    if code.architecture:
        cubin(code.file, code.architecture)
    else:
        host_library(code.file)


def host_flags(file: str) -> str:
    """Return hpcsolve's own options for a file of cuda_src on CPUs."""
    return HOST_FLAGS.replace("-O3", "-O2") if file in LITTLE_TO_GAIN else HOST_FLAGS


def source_folder() -> Path:
    """Return the folder of the kernels, which is inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "cuda_src", package.parent / "cuda_src"):
        if (folder / "device" / "device.cuh").is_file():
            return folder
    raise EnvironmentFault(f"no kernel sources (cuda_src) in {package} or beside it: install hpcsolve again")


def shipped_folder() -> Path:
    """Return the folder of the package with kernels that were compiled beforehand. Only wheels have it."""
    return Path(__file__).resolve().parent.parent / "shipped"


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


@functools.cache
def target_key() -> str:
    """Return a hash of all kernel sources and options."""
    folder = source_folder()
    sources = _with_names(folder, sorted([*folder.rglob("*.cu"), *folder.rglob("*.cpp")])) + headers(folder)
    options = f"{HOST_FLAGS}\0{LITTLE_TO_GAIN}\0{SHIPPED_FLAGS}\0{CUDA_FLAGS}"
    return hashlib.sha256(options.encode() + sources).hexdigest()[:16]


def cache_folder() -> Path:
    """Return the user's own folder of compiled kernels, which is made if need be.

    Raises
    ------
    EnvironmentFault
        The folder belongs to another user, or others may write to it, or everybody may replace a folder above it, so
        its content cannot be trusted.
    """
    named = os.environ.get("HPCSOLVE_CACHE")
    try:
        folder = Path(named or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hpcsolve")
    except RuntimeError:  # no HOME, and the user is not in the system's user database
        raise EnvironmentFault("there is no home folder: name a folder of your own in HPCSOLVE_CACHE") from None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        modes = {str(above): above.stat().st_mode for above in folder.resolve().parents}
        # In /tmp only owners may rename what is there: its sticky bit is set.
        replaceable = [above for above, mode in modes.items() if mode & stat.S_IWOTH and not mode & stat.S_ISVTX]
    except OSError as error:
        raise EnvironmentFault(f"{folder}: {error.strerror}; name a folder of your own in HPCSOLVE_CACHE") from None
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise EnvironmentFault(f"{folder} is not yours, or others can write to it: name another in HPCSOLVE_CACHE")
    if replaceable:
        raise EnvironmentFault(f"{folder}: everybody may rename what is in {replaceable[0]}: name another folder in "
                               "HPCSOLVE_CACHE")
    return folder


def ready_target(architecture: str) -> Ready | None:
    """Return what `hpcsolve build` or a wheel has for a GPU architecture, or for this CPU if that is empty.

    Of several that this CPU can run, the kernels with the most features are returned. None if there are none, or if
    HPCSOLVE_CXXFLAGS is set: those kernels were not compiled with these options. If HPCSOLVE_CXX is set, those of a
    wheel are left aside: another compiler made them.
    """
    if not architecture and "HPCSOLVE_CXXFLAGS" in os.environ:
        return None
    found = list(_targets(cache_folder(), architecture))
    if not architecture and "HPCSOLVE_CXX" not in os.environ:
        found += _targets(shipped_folder(), architecture)
    fits = [ready for ready in found if architecture or ready.target.runs_here()]
    return max(fits, key=lambda ready: len(ready.target.features), default=None)


def _targets(folder: Path, architecture: str) -> Iterator[Ready]:
    """Yield the targets in a folder that were made of these sources: for a GPU architecture, or all if it is empty."""
    begin, end = f"{TARGET}-{architecture}", f"-{target_key()}"
    # Path.glob takes far longer in a cache of many kernels.
    for name in sorted(os.listdir(folder)) if folder.is_dir() else ():
        if name.startswith(begin) and name.endswith(end):
            target = _read_description(folder / name)
            if target is not None and architecture in ("", target.name):
                yield Ready(target, folder / name)


def why_none_shipped() -> str:
    """Return why the kernels of the wheel are not taken for this CPU, or "" if they are, or there are none."""
    if not shipped_folder().is_dir():
        return ""
    setting = next((name for name in ("HPCSOLVE_CXXFLAGS", "HPCSOLVE_CXX") if name in os.environ), None)
    if setting:
        return f"{setting} is set"
    found = [ready.target for ready in _targets(shipped_folder(), "")]
    if not found:
        return "they were compiled from other sources"
    if not any(target.runs_here() for target in found):
        return f"they are for {' and '.join(target.name for target in found)}, and this CPU is older"
    return ""


def compiler_line(architecture: str = "") -> str:
    """Return in one line the compiler of the kernels for a GPU or this CPU. Raises as `compiler.compiler_identity`."""
    ready = ready_target(architecture)
    if ready:
        return f"{ready.target.compiler}, for {ready.target.name}{', in the wheel' if ready.is_shipped else ''}"
    return compiler.version_line(compiler.cuda_compiler() if architecture else compiler.host_compiler())


class Target(msgspec.Struct, frozen=True):
    """What kernels were compiled for.

    Attributes
    ----------
    name
        `znver4`, `sm_90`: a CPU as g++ names it, or the architecture of a GPU.
    compiler
        What the compiler says of its version, in one line.
    machine
        Instruction set of the CPU (`x86_64`, `aarch64`); for a GPU that of the host, which does not matter.
    features
        Features of the CPU that the code may use, as `features_of_this_cpu` writes them.
    """

    name: str
    compiler: str
    machine: str
    features: tuple[str, ...] = ()

    def runs_here(self) -> bool:
        """Return whether it is for CPUs, and this one has what the code may use."""
        here = not self.name.startswith("sm_") and self.machine == platform.machine()
        return here and set(self.features) <= features_of_this_cpu()


def features_of_this_cpu() -> frozenset[str]:
    """Return the features that Linux sees, without the separators in their names."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    line = re.search(r"^flags\s*:(.*)$", text, re.M)
    return frozenset(_plain(name) for name in line[1].split()) if line else frozenset()


def _plain(name: str) -> str:
    """Return the name of a feature as Linux has it, without separators."""
    plain = re.sub(r"[._-]", "", name)
    return LINUX_NAMES.get(plain, plain)


@dataclass(frozen=True)
class Ready:
    """A target with the folder of its kernels."""

    target: Target
    folder: Path

    @property
    def is_shipped(self) -> bool:
        """Whether it came with the package."""
        return self.folder.parent == shipped_folder()

    def path(self, file: str) -> Path:
        """Return the path of the code of a file of cuda_src."""
        return self.folder / kernel_name(file, self.target.name)


def kernel_name(file: str, target: str) -> str:
    """Return the name of the compiled form of a file of cuda_src for a target."""
    return file.replace("/", "-") + (".cubin" if target.startswith("sm_") else ".so")


def _read_description(folder: Path) -> Target | None:
    """Return the description in a folder of this user or of the package, or None if there is none."""
    try:
        if folder.parent != shipped_folder() and folder.stat().st_uid != os.geteuid():
            return None
        return msgspec.json.decode((folder / DESCRIPTION).read_bytes(), type=Target)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # the last: nested too deep
        return None


def about_flags() -> str:
    """Return the end of a message about compiled kernels: what HPCSOLVE_CXXFLAGS must be, if it is set, or ""."""
    if "HPCSOLVE_CXXFLAGS" not in os.environ:
        return ""
    return f'; HPCSOLVE_CXXFLAGS stands in place of hpcsolve\'s options: unset it, or change "{HOST_FLAGS}"'


def _intact(entry: Path, is_shipped: bool = False) -> bool:
    """Return whether a file has its SHA-256, and is this user's own unless it came with the package."""
    try:
        owner, digest = entry.stat().st_uid, _checksum_file(entry).read_text()
        return (is_shipped or owner == os.geteuid()) and digest == hashlib.sha256(entry.read_bytes()).hexdigest()
    except OSError:
        return False


def _checksum_file(entry: Path) -> Path:
    return entry.with_name(entry.name + ".sha256")


@contextmanager
def _lock(path: Path, ends: float) -> Iterator[None]:
    """Lock a file while the block runs. Raises `EnvironmentFault` if another process still has the lock at the end.

    Where the file system has no locks (Lustre without `flock`), several processes may compile the same kernel. The
    result of the last one is kept. Each is written as a whole.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    except OSError as error:
        raise EnvironmentFault(f"{path.parent}: {error.strerror}; name another folder in HPCSOLVE_CACHE") from None
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                pass
            except OSError as error:
                if error.errno not in NO_LOCKS:
                    raise EnvironmentFault(f"{path}: {error.strerror}; name another folder in HPCSOLVE_CACHE") from None
                break
            compiler.require_going_on()
            if time.monotonic() > ends:
                raise EnvironmentFault(f"{path}: another process has been compiling for {compiler.SECONDS:.0f} s; end "
                                       "it, or name another folder in HPCSOLVE_CACHE")
            time.sleep(SECONDS_BETWEEN_TRIES)
        yield
    finally:
        os.close(descriptor)


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


def check_target(name: str, is_gpu: bool) -> None:
    """Raise an `InputError` unless this can be the name of a GPU's architecture (`is_gpu`), or else of a CPU."""
    if is_gpu and not GPU_NAME.fullmatch(name):
        raise InputError(f"GPU {name!r}: name it by its architecture, such as sm_90 (`hpcsolve info` shows it)")
    if not is_gpu and (name == "native" or name.startswith("sm_") or not CPU_NAME.fullmatch(name)):
        raise InputError(f"CPU {name!r}: name it as g++ does, such as znver4 (`g++ --target-help` lists all)")


def build_target(
    name: str, is_gpu: bool, files: Iterable[str], report: Callable[[str], None], shipped: Path | None = None
) -> Path:
    """Compile kernel files for a target, and return their folder. An older folder is replaced.

    Parameters
    ----------
    name
        A CPU as g++ names it, or the architecture of a GPU.
    files
        Kernel files, such as `held_karp/layers`.
    report
        Called with the name of each file when it is compiled.
    shipped
        The folder in which the target's folder is made; by default the cache.

    Raises
    ------
    InputError
        `name` cannot be the name of a target.
    EnvironmentFault
        There is no compiler, or it failed, or the cache cannot be written.
    """
    check_target(name, is_gpu)
    folder = target_folder(name, shipped)
    if is_gpu:
        program = compiler.cuda_compiler()
        target = Target(name, compiler.version_line(program), platform.machine())
    else:
        program = compiler.host_compiler()
        features = features_in(compiler.target_features(program, name))
        target = Target(name, compiler.version_line(program), compiler.target_machine(program), features)
    part = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    old = part.with_name(part.name + "-old")

    def compile_one(file: str) -> None:
        own = host_flags(file).replace("-march=native", f"-march={name}")
        own += f" {SHIPPED_FLAGS}" if shipped else ""
        flags = f"{CUDA_FLAGS} -arch={name}" if is_gpu else own
        compile_file(file, [program, *flags.split()], part / kernel_name(file, name))
        report(file)

    try:
        compiler.compile_all(compile_one, files, len(os.sched_getaffinity(0)))
        (part / DESCRIPTION).write_bytes(msgspec.json.encode(target))
        if folder.exists():  # a process that has loaded kernels from the old folder keeps them
            folder.rename(old)
            shutil.rmtree(old, ignore_errors=True)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def features_in(options: str) -> tuple[str, ...]:
    """Return the features of a CPU that g++ uses, from what `g++ -march=NAME -Q --help=target` prints."""
    enabled = re.findall(r"^\s*-m(\S+)\s+\[enabled\]", options, re.M)
    return tuple(sorted(_plain(name) for name in enabled if CPU_FEATURE.fullmatch(name)))


def target_folder(name: str, shipped: Path | None = None) -> Path:
    """Return the folder of the kernels for a target, which need not exist. Raises as `cache_folder`.

    Parameters
    ----------
    shipped
        The folder that has it; by default the cache.
    """
    return (shipped or cache_folder()) / f"{TARGET}-{name}-{target_key()}"
