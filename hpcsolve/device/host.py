"""The CPU as a device: its kernels are compiled by g++ and loaded with ctypes, and OpenMP threads share their blocks.

A buffer is a numpy array on a 64-byte boundary. A launch is done when its call returns. Beside kernels it has functions
of the host (cuda_src/host), plain C++ which no GPU runs: jobs with a GPU open a `HostDevice` too, for them.
"""

from __future__ import annotations

import ctypes
import math
import os
import platform
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hpcsolve.device import base, build
from hpcsolve.device.declaration import Declaration, Struct, Value, declaration_of, source_name
from hpcsolve.errors import EnvironmentFault, LaunchError, ResourceError
from hpcsolve.memory import available_memory
from hpcsolve.wording import counted

if TYPE_CHECKING:
    from hpcsolve.device.base import Argument

ALIGNMENT = 64
NO_MEMORY = 1
"""What a call returns if it could not have its memory (`outcome` in cuda_src/host/function.hpp)."""
Given: TypeAlias = "int | NDArray[Any] | Mapping[str, Given] | None"
"""An argument: a number, an array, which the function fills in unless it is declared `const`, None where the source
says NULLABLE, or a group of these."""


@dataclass(eq=False)
class HostBuffer:
    """A numpy array that kernels read and write. See `base.Buffer`.

    Attributes
    ----------
    owns_memory
        Whether `free` frees the array, as it does not on a view or on an array of the caller's.
    """

    array: NDArray[Any]
    device: HostDevice
    owns_memory: bool = True
    read_only: bool = False
    address: int = field(init=False)

    def __post_init__(self) -> None:
        """Look up the address once, since numpy takes a microsecond for it, and launches need it often."""
        self.address = self.array.ctypes.data

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, row-major."""
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return self.array.dtype

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.array.nbytes

    def view(self, start: int, shape: int | tuple[int, ...]) -> HostBuffer:
        """Return a part that shares the memory."""
        base.check_view(self, start, shape)
        count = math.prod(base.as_shape(shape))
        part = self.array.reshape(-1)[start : start + count].reshape(shape)
        return HostBuffer(part, self.device, owns_memory=False, read_only=self.read_only)

    def upload(self, array: NDArray[Any]) -> None:
        """Copy `array` into it."""
        base.check_writable(self)
        base.check_host_array(self, array)
        self._copy(self.array, array)

    def download(self, into: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return a copy, which is `into` if that is given."""
        target = np.empty(self.shape, self.dtype) if into is None else into
        base.check_host_array(self, target, contiguous=True)
        if target is not self.array:
            self._copy(target, self.array)
        return target

    def _copy(self, target: NDArray[Any], source: NDArray[Any]) -> None:
        started = time.perf_counter()
        np.copyto(target, source)
        self.device.seconds_copy += time.perf_counter() - started

    def start_download(self, into: NDArray[Any]) -> base.Download:
        """Copy into an array."""
        self.download(into)
        return base.DONE

    def copy_out(self, into: NDArray[Any], after: base.Mark) -> base.Copy:
        """Copy into an array."""
        self.download(into)
        return base.DONE

    def copy_in(self, source: NDArray[Any] | bytes, after: base.Mark) -> base.Copy:
        """Copy from an array."""
        assert not isinstance(source, bytes)
        self.upload(source)
        return base.DONE

    def handle(self) -> bytes:
        """Raise an error: only GPUs read the memory of others."""
        raise EnvironmentFault("a CPU's memory has no handle")

    def fill(self, value: int) -> None:
        """Set every byte to `value`."""
        base.check_writable(self)
        self.array.reshape(-1).view(np.uint8)[...] = value

    def free(self) -> None:
        """Free the memory."""
        if self.owns_memory:
            self.device.allocated -= self.nbytes
            self.array, self.owns_memory = np.empty(0, self.dtype), False


@dataclass(frozen=True)
class HostKernel:
    """A function of a compiled library. See `base.Kernel`."""

    declaration: Declaration
    function: Any
    device: HostDevice

    def __call__(self, grid: int, block: int, /, **arguments: base.Argument) -> None:
        """Run all blocks, each as one thread."""
        packed = self.declaration.packed(arguments, self.device)
        if grid > 0:
            self._launch(grid, block, (packed,))

    def each(self, step: str, steps: range, grid: int, block: int, /, **arguments: base.Argument) -> None:
        """Run all blocks once for every step."""
        if grid > 0:
            self._launch(grid, block, self.declaration.packed_steps(step, steps, arguments, self.device))

    def _launch(self, grid: int, block: int, calls: Iterable[bytes]) -> None:
        started = time.perf_counter()
        for packed in calls:
            self.function(grid, block, packed)
        self.device.seconds_kernel += time.perf_counter() - started


@dataclass
class HostTimer:
    """The wall-clock time between two points. See `base.Timer`."""

    seconds: float = 0.0
    started: float = 0.0

    def start(self) -> None:
        """Mark the beginning."""
        self.started = time.perf_counter()

    def stop(self) -> None:
        """Add the time since `start`."""
        self.seconds += time.perf_counter() - self.started


class HostFunction:
    """A function of a compiled library.

    Parameters
    ----------
    declaration
        As its source declares it.
    library
        The library that has it.

    Attributes
    ----------
    most_held
        The most bytes that vectors of its library held at a time during the last call.
    """

    def __init__(self, declaration: Declaration, library: ctypes.CDLL) -> None:
        self.declaration, self.most_held = declaration, 0
        self._call = library[f"{declaration.kernel}_call"]
        self._call.argtypes = (ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p))
        self._bytes, self._take, self._most_held = (
            library[f"hpcsolve_{name}"] for name in ("bytes", "take", "most_held"))
        self._bytes.argtypes, self._bytes.restype = (ctypes.c_void_p,), ctypes.c_size_t
        self._take.argtypes, self._take.restype = (ctypes.c_void_p, ctypes.c_void_p), None
        self._most_held.restype = ctypes.c_size_t

    def __call__(self, device: HostDevice, arguments: Mapping[str, Given]) -> dict[str, NDArray[Any]]:
        """Call the function, and return its results. See `HostDevice.call`."""
        buffers = _buffers(self.declaration.parameters, arguments, device)  # they keep copies of strided arrays alive
        made = (ctypes.c_void_p * len(self.declaration.results))()
        packed, started = self.declaration.packed(buffers, device), time.perf_counter()
        outcome = self._call(packed, made)
        device.seconds_kernel += time.perf_counter() - started
        self.most_held = int(self._most_held())
        device.memory_peak = max(device.memory_peak, device.allocated + self.most_held)
        if outcome == NO_MEMORY:
            raise ResourceError(f"{self.declaration.kernel}: its memory does not fit ({device.memory_free()} bytes are "
                                "free)")
        if outcome:
            raise LaunchError(f"{self.declaration.kernel} failed: an exception that is not a lack of memory (a bug in "
                              "hpcsolve)")
        return {result.name: self._taken(one, result.dtype) for result, one in zip(self.declaration.results, made)}

    def _taken(self, one: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return a copy of a result, whose own memory is freed."""
        found = np.empty(self._bytes(one) // dtype.itemsize, dtype)
        self._take(one, found.ctypes.data)
        return found


def _buffers(
    parameters: Sequence[Value | Struct], given: Mapping[str, Given], device: HostDevice
) -> dict[str, Argument]:
    """Return the arguments with a buffer in place of each array. Wrong ones stay, for the declaration to refuse."""
    declared = {parameter.name: parameter for parameter in parameters}
    return {name: _buffer(declared.get(name), value, device) for name, value in given.items()}


def _buffer(parameter: Value | Struct | None, given: Given, device: HostDevice) -> Argument:
    if isinstance(parameter, Struct) and isinstance(given, Mapping):
        return _buffers(parameter.fields, given, device)
    if isinstance(parameter, Value) and isinstance(given, np.ndarray):
        written = not parameter.constant and given.flags.writeable
        return device.output(given) if written else device.constant(np.ascontiguousarray(given))
    return given  # type: ignore[return-value]


@dataclass(eq=False)
class HostDevice(base.Device):
    """The CPU cores of this process. See `base.Device`.

    Attributes
    ----------
    threads
        OpenMP threads that share the blocks of a launch.
    allocated
        Bytes that are allocated now, without arrays of the caller's.
    """

    threads: int = 1
    allocated: int = 0
    memory_peak: int = 0
    info: base.DeviceInfo = field(init=False)
    notes: list[str] = field(default_factory=list)
    seconds_copy: float = 0.0
    seconds_kernel: float = 0.0
    libraries: dict[str, ctypes.CDLL] = field(default_factory=dict)
    kernels: dict[tuple[str, str], HostKernel] = field(repr=False, default_factory=dict)
    functions: dict[tuple[str, str], HostFunction] = field(repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Describe the processor."""
        name = f"{_processor_name()}, {counted(self.threads, 'thread')}"
        self.info = base.DeviceInfo("cpu", name, "", build.compiler_line(), self.threads, self.threads)

    def memory_free(self) -> int:
        """Return the bytes that this process may still allocate."""
        return available_memory()

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> HostBuffer:
        """Return memory with undefined content."""
        return HostBuffer(self._allocate(shape, np.dtype(dtype)), self)

    def constant(self, array: NDArray[Any]) -> HostBuffer:
        """Return the array itself if kernels can read it, else a copy.

        The array belongs to the caller, or to all ranks of the host, so `allocated` does not count it.
        """
        if array.flags.c_contiguous and array.flags.aligned:
            return HostBuffer(array, self, owns_memory=False, read_only=True)
        copy = self.empty(array.shape, array.dtype)
        copy.upload(array)
        copy.read_only = True
        return copy

    def output(self, array: NDArray[Any]) -> HostBuffer:
        """Return the array itself. It belongs to the caller, so `allocated` does not count it."""
        if not array.flags.c_contiguous:
            raise LaunchError("results can only be written into a contiguous array")
        return HostBuffer(array, self, owns_memory=False)

    def staging(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return a plain array."""
        return np.empty(shape, dtype)

    def lock(self, array: NDArray[np.uint8]) -> bool:
        """Do nothing: a CPU copies from any page."""
        return False

    def kernel(self, file: str, name: str) -> HostKernel:
        """Return a kernel of `cuda_src/{file}.cu`. Raises `LaunchError` if it has none of that name."""
        if (file, name) not in self.kernels:
            self.kernels[file, name] = self._load(file, name)
        self.libraries[file].hpcsolve_set_threads(ctypes.c_int(self.threads))  # another device may have set its own
        return self.kernels[file, name]

    def _load(self, file: str, name: str) -> HostKernel:
        declaration, library = self._declared(file, name)
        if not self.kernels:
            start_threads(library, self.threads)
        function = library[f"{name}_launch"]
        function.argtypes, function.restype = (ctypes.c_uint, ctypes.c_uint, ctypes.c_char_p), None
        return HostKernel(declaration, function, self)

    def call(self, file: str, name: str, /, **arguments: Given) -> dict[str, NDArray[Any]]:
        """Call a function of `cuda_src/{file}.cpp`, and return its results, new arrays, by their names.

        Raises
        ------
        LaunchError
            There is no such function, or an argument is missing, unknown or mistyped. Nothing has run.
        ResourceError
            Its memory does not fit.
        """
        if (file, name) not in self.functions:
            self.functions[file, name] = HostFunction(*self._declared(file, name))
        return self.functions[file, name](self, arguments)

    def _declared(self, file: str, name: str) -> tuple[Declaration, ctypes.CDLL]:
        """Return the declaration of a kernel or function and the library that has it, which agree."""
        declaration = declaration_of(build.source_folder(), file, name)
        try:
            library = self.libraries.get(file) or open_library(build.host_library(file), self.threads)
        except OSError as error:  # its text begins with the path
            advice = "install g++'s OpenMP library (libgomp), or remove the file, which is then compiled again"
            raise EnvironmentFault(f"{error}: this kernel library cannot be loaded; {advice}{build.about_flags()}"
                                   ) from None
        self.libraries[file] = library
        try:
            describe = library[f"{name}_signature"]
        except AttributeError:
            without = f"{source_name(file)} was compiled without {name}"
            raise EnvironmentFault(f"{without}{build.about_flags()}") from None
        describe.restype = ctypes.c_char_p
        if describe().decode() != declaration.signature:
            found, declared = describe().decode(), declaration.signature
            raise LaunchError(f"{name} was compiled with {found}; {source_name(file)} declares {declared}")
        return declaration, library

    def resident_blocks(self, file: str, name: str, threads: int) -> int:
        """Return the number of threads: each works on one block."""
        return self.threads

    def timer(self) -> HostTimer:
        """Return a stopwatch."""
        return HostTimer()

    def mark(self) -> base.Copy:
        """Return a mark that is reached."""
        return base.DONE

    def current(self) -> AbstractContextManager[None]:
        """Give a block in which nothing is different."""
        return nullcontext()

    def forget_handles(self) -> None:
        """Do nothing."""

    def synchronize(self) -> None:
        """Do nothing, since all work is done when its call returns."""

    def close(self) -> None:
        """Forget the libraries."""
        self.kernels.clear()
        self.functions.clear()
        self.libraries.clear()

    def _allocate(self, shape: int | tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        shape = base.as_shape(shape)
        nbytes = math.prod(shape) * dtype.itemsize
        try:
            _, memory = base.aligned_memory(nbytes, ALIGNMENT)
        except (MemoryError, ValueError):
            raise ResourceError(f"{nbytes} bytes do not fit in memory ({self.memory_free()} are free)") from None
        self.allocated += nbytes
        self.memory_peak = max(self.memory_peak, self.allocated)
        return memory.view(dtype).reshape(shape)


@contextmanager
def on_host(device: base.Device) -> Iterator[HostDevice]:
    """Yield the job's device if it is the CPU, else the CPU cores that the rank has beside it."""
    if isinstance(device, HostDevice):
        yield device
        return
    with HostDevice(device.info.threads) as host:
        yield host


def open_library(path: Path, threads: int) -> ctypes.CDLL:
    """Load a compiled library whose idle threads sleep.

    OpenMP reads OMP_WAIT_POLICY once, when the first library loads it. Without the variable, idle threads spin for
    milliseconds after each launch, and an ant colony on 4 threads took 30 times the CPU time. What the user has set
    stays.
    """
    if "OMP_WAIT_POLICY" in os.environ:
        return ctypes.CDLL(str(path))
    if threads > 1:
        _warn_of_spinning(path.parent)
    os.environ["OMP_WAIT_POLICY"] = "passive"
    try:
        return ctypes.CDLL(str(path))
    finally:
        del os.environ["OMP_WAIT_POLICY"]  # the environment is the calling program's


def _warn_of_spinning(folder: Path) -> None:
    """Warn if OpenMP was loaded without a policy before the first library of this folder: its threads will spin."""
    try:
        loaded = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    if "/libgomp.so" in loaded and os.path.realpath(folder) not in loaded:
        text = "OpenMP was loaded before hpcsolve, so idle threads spin and take the cores of others: start the " \
               "program with OMP_WAIT_POLICY=passive in its environment"
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def start_threads(library: ctypes.CDLL, threads: int) -> None:
    """Start OpenMP's threads, which all launches from this thread use.

    OpenMP's library ends the process where a thread cannot be started, with exit code 1. So Python starts as many
    before, all at the same time, and OpenMP's take their place at once, before anything else takes the memory.

    Raises
    ------
    ResourceError
        They cannot be started.
    """
    end, started = threading.Event(), []
    try:
        for _ in range(threads - 1):
            thread = threading.Thread(target=end.wait)
            thread.start()
            started.append(thread)
    except (RuntimeError, MemoryError):
        what = f"{counted(threads, 'thread')} cannot be started, only {len(started) + 1}"
        raise ResourceError(f"{what}: raise the limit of processes (ulimit -u, pids of the cgroup) or of memory "
                            f"(ulimit -v), or set threads = {len(started) + 1} in the job") from None
    finally:
        end.set()
        for thread in started:
            thread.join()
    if threads > 1:
        with suppress(AttributeError):  # another compiler's OpenMP
            parallel = library["GOMP_parallel"]  # of libgomp, which the library is linked with
            nothing = ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p)
            parallel(nothing, None, ctypes.c_uint(threads), ctypes.c_uint(0))  # each thread calls free(NULL)


def _processor_name() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            names = (line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
            return next(names, platform.machine())
    except OSError:
        return platform.machine()
