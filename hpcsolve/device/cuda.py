"""One NVIDIA GPU as a device, through PyCUDA, with one stream.

The GPU's primary context is retained while the device is open, and current only inside a call (`CudaContext`). So
other users of CUDA in this process (an MPI library, say) never see it, and several devices may be open. Launches, fills
and event marks are queued and return at once; `upload` and `download` return when the copy is done.

An error of the driver becomes one line that names the GPU and the operation. A kernel's failure is seen at a later
call, so the line also names the last kernel launched. Of an error that a kernel makes (an illegal address, say)
NVIDIA's documentation says: "any further CUDA work will return the same error", and of nearly every function, pushing
and popping contexts included, that it "may also return error codes from previous, asynchronous launches". So the first
error is kept and raised by every later call. The context is released at once: PyCUDA would call the driver whenever one
of its objects is deleted, and an error there ends the process. It leaves objects alone whose context is gone.

PyCUDA has no type hints, so its objects are `Any` here.
"""

from __future__ import annotations

import ctypes
import math
import os
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hpcsolve.device import base, build
from hpcsolve.device.cuda_memory import Allocation, CudaBuffer, CudaMark, Downloads, IpcHandle
from hpcsolve.device.declaration import Declaration, declaration_of
from hpcsolve.device.select import Gpu, driver_version, load_driver, load_library
from hpcsolve.errors import EnvironmentFault, LaunchError, ResourceError

PAGE = 4096
LAZY_PEER = 1
"""CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS."""


@dataclass(eq=False)
class CudaContext:
    """The context of a GPU.

    Attributes
    ----------
    cuda
        PyCUDA's module `driver`.
    handle
        PyCUDA's context, None once it is closed.
    last_kernel
        Name of the kernel that was launched last, for messages.
    failure
        The error of a kernel that has broken the context, empty if there was none.
    spare
        Events to be used again. They are deleted when the context is closed.

    Raises
    ------
    ResourceError
        PyCUDA, the driver or the GPU is not there.
    EnvironmentFault
        The GPU cannot be used: another process has it exclusively, say.
    """

    gpu: Gpu
    cuda: Any = field(init=False, repr=False)
    handle: Any = field(init=False, repr=False)
    last_kernel: str = field(init=False, default="")
    failure: str = field(init=False, default="")
    spare: list[Any] = field(init=False, repr=False, default_factory=list)

    def __post_init__(self) -> None:
        """Retain the primary context."""
        self.cuda = load_driver()
        try:
            self.handle = self.cuda.Device(self.gpu.index).retain_primary_context()
        except self.cuda.Error as error:
            raise EnvironmentFault(f"{self.gpu} cannot be used: {error}") from None

    @contextmanager
    def calling(self, what: str) -> Iterator[Any]:
        """Yield PyCUDA's driver module while the context is current, and turn its errors into ours.

        `what` is the operation, for messages: "allocating 8 bytes".
        """
        if self.failure:
            raise EnvironmentFault(self.failure)
        if self.handle is None:
            raise LaunchError(f"{what}: {self.gpu} is closed")
        try:
            self.handle.push()
            try:
                yield self.cuda
            except self.cuda.Error as error:
                raise self._fault(what, error) from None
            finally:
                if self.handle is not None:
                    self.cuda.Context.pop()
        except self.cuda.Error as error:  # of push or pop
            raise self._fault(what, error) from None

    def mark(self, stream: Any) -> Any:
        """Return an event that is recorded on a stream. The context must be current. Append it to `spare` after use."""
        event = self.spare.pop() if self.spare else self.cuda.Event()
        return event.record(stream)

    def close(self) -> None:
        """Release the context. Afterwards it is not current, and PyCUDA leaves the objects that it made in it alone."""
        handle, self.handle = self.handle, None
        if handle is None:
            return
        library, number, own = load_library(), ctypes.c_int(), ctypes.c_void_p()
        library.cuDeviceGet(ctypes.byref(number), ctypes.c_int(self.gpu.index))
        # PyCUDA makes the context current to release it, and leaves it current. It must exist until it is popped.
        retained = library.cuDevicePrimaryCtxRetain(ctypes.byref(own), number) == 0
        with _silent_stderr() if self.failure else nullcontext():
            handle.detach()
        library.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
        if retained:
            library.cuDevicePrimaryCtxRelease_v2(number)
        self.spare.clear()

    def _fault(self, what: str, error: Exception) -> EnvironmentFault:
        """Return our error for one of the driver's, or for the first one if the context is broken."""
        if not self.failure:
            after = f" (the last kernel launched was {self.last_kernel})" if self.last_kernel else ""
            message = f"{what} failed on {self.gpu}: {error}{after}"
            if self._answers():
                return EnvironmentFault(message)
            self.failure = message
            self.close()
        return EnvironmentFault(self.failure)

    def _answers(self) -> bool:
        """Return whether the context still works: a failed kernel breaks it for good, a refused launch does not."""
        try:
            self.cuda.Context.synchronize()
        except self.cuda.Error:
            return False
        return True


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Discard standard error: PyCUDA prints there that a broken context cannot be released."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@dataclass(eq=False)
class CudaDevice(base.Device):
    """A GPU. See `base.Device`.

    Attributes
    ----------
    threads
        Number of CPU threads of this rank.
    allocated
        Bytes that are allocated now.
    context
        The GPU's primary context. A kernel that fails breaks it, and closes it.
    modules, kernels
        Loaded modules by file, and loaded kernels by file and name.
    resident
        Numbers of resident blocks by file, name and threads of a block.
    pinned
        The page-locked arrays by address: their bytes, and the finalizer that unlocks them.
    downloads
        Copies that are under way from the GPU to the host.
    copies
        The streams of copies from the GPU and to it that kernels do not wait for, once there are some.
    peers
        Addresses here of the memory of other GPUs, by the driver's handle.

    Raises
    ------
    ResourceError
        PyCUDA, the driver or the GPU is not there.
    EnvironmentFault
        The GPU cannot be used (another process has it exclusively, say), or there is no nvcc.
    """

    gpu: Gpu
    threads: int = 1
    info: base.DeviceInfo = field(init=False)
    notes: list[str] = field(init=False, default_factory=list)
    seconds_copy: float = 0.0
    allocated: int = 0
    memory_peak: int = 0
    context: CudaContext = field(init=False, repr=False)
    clock: KernelClock = field(init=False, repr=False)
    stream: Any = field(init=False, repr=False, default=None)
    modules: dict[str, Any] = field(init=False, repr=False, default_factory=dict)
    kernels: dict[tuple[str, str], CudaKernel] = field(init=False, repr=False, default_factory=dict)
    resident: dict[tuple[str, str, int], int] = field(init=False, repr=False, default_factory=dict)
    allocations: weakref.WeakSet[Allocation] = field(init=False, repr=False, default_factory=weakref.WeakSet)
    pinned: dict[int, tuple[int, weakref.finalize[..., Any]]] = field(init=False, repr=False, default_factory=dict)
    downloads: Downloads = field(init=False, repr=False)
    copies: list[Any] = field(init=False, repr=False, default_factory=lambda: [None, None])
    peers: dict[bytes, int] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Retain the primary context and make the stream."""
        gpu, compiler = self.gpu, build.compiler_line(self.gpu.architecture)
        self.context, self.clock, self.downloads = CudaContext(self.gpu), KernelClock(self), Downloads(self)
        with self.calling("making a stream") as cuda:
            self.stream = cuda.Stream()
        free = self.memory_free()
        self.info = base.DeviceInfo("cuda", gpu.name, gpu.uuid, compiler, gpu.multiprocessors, self.threads, free)

    @property
    def cuda(self) -> Any:
        """PyCUDA's module `driver`."""
        return self.context.cuda

    def calling(self, what: str) -> AbstractContextManager[Any]:
        """Give PyCUDA's driver module while this GPU's context is current. See `CudaContext.calling`."""
        self.clock.last = 0.0
        return self.context.calling(what)

    @contextmanager
    def copying(self, nbytes: int, way: str) -> Iterator[Any]:
        """Yield PyCUDA's driver once what is queued is done, and wait for the copies that are queued in the block."""
        with self.calling(f"a copy of {nbytes} bytes {way} the GPU") as cuda:
            self.downloads.advance_until_idle()
            self.stream.synchronize()
            started = time.perf_counter()
            yield cuda
            self.stream.synchronize()
            self.seconds_copy += time.perf_counter() - started

    @property
    def is_open(self) -> bool:
        """Whether the device is open, and no kernel has broken its context."""
        return self.context.handle is not None

    def memory_free(self) -> int:
        """Return the bytes that can be allocated now."""
        with self.calling("reading the free memory") as cuda:
            return int(cuda.mem_get_info()[0])

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> CudaBuffer:
        """Return memory with undefined content."""
        shape, dtype = base.as_shape(shape), np.dtype(dtype)
        return CudaBuffer(self, shape, dtype, self._allocate(math.prod(shape) * dtype.itemsize))

    def constant(self, array: NDArray[Any]) -> CudaBuffer:
        """Return a copy of `array` that is only read."""
        buffer = self.empty(array.shape, array.dtype)
        buffer.upload(array)
        buffer.read_only = True
        return buffer

    def output(self, array: NDArray[Any]) -> CudaBuffer:
        """Return memory of the shape and type of `array`."""
        return self.empty(array.shape, array.dtype)

    def staging(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return a page-locked host array, or a plain one where the system refuses to lock so much.

        All messages pass through such arrays. The memory is numpy's, so an array stays valid after the device is
        closed.
        """
        return self.locked(math.prod(base.as_shape(shape)) * np.dtype(dtype).itemsize)[0].view(dtype).reshape(shape)

    def locked(self, nbytes: int) -> tuple[NDArray[np.uint8], bool]:
        """Return a host array on page boundaries, and whether the system has locked its pages."""
        raw, array = base.aligned_memory(nbytes, PAGE)
        return array, self.lock(array, raw)

    def lock(self, array: NDArray[np.uint8], owner: object = None) -> bool:
        """Lock the pages of an array until it, or the owner of its memory, is deleted. Return whether that was done."""
        address = array.ctypes.data
        if not array.nbytes or not self.is_open:
            return False
        with self.calling("page-locking"):
            # PyCUDA 2026.1's register_host_memory drops a reference too many, and crashes.
            start, size = ctypes.c_void_p(address), ctypes.c_size_t(array.nbytes)
            if load_library().cuMemHostRegister_v2(start, size, ctypes.c_uint(0)) != 0:
                return False
        self.pinned[address] = array.nbytes, weakref.finalize(array if owner is None else owner, self._unlock, address)
        return True

    def is_locked(self, array: NDArray[Any]) -> bool:
        """Return whether the pages of a contiguous array are locked."""
        begin, end = array.ctypes.data, array.ctypes.data + array.nbytes
        return any(start <= begin and end <= start + nbytes for start, (nbytes, _) in self.pinned.items())

    def kernel(self, file: str, name: str) -> CudaKernel:
        """Return a kernel of `cuda_src/{file}.cu`. Raises `LaunchError` if it has none of that name."""
        if (file, name) not in self.kernels:
            self.kernels[file, name] = self._load(file, name)
        return self.kernels[file, name]

    def _load(self, file: str, name: str) -> CudaKernel:
        declaration = declaration_of(build.source_folder(), file, name)
        module = self._module(file)
        with self.calling(f"loading kernel {name}"):
            function = module.get_function(name)
        return CudaKernel(declaration, function, self)

    def resident_blocks(self, file: str, name: str, threads: int) -> int:
        """Return how many blocks of a kernel all multiprocessors hold, which is asked of the driver once."""
        asked = file, name, threads
        if asked not in self.resident:
            image = build.cubin(file, self.gpu.architecture)
            with self.calling(f"counting the resident blocks of {name}"):
                self.resident[asked] = self.info.units * max(1, blocks_a_multiprocessor(image, name, threads))
        return self.resident[asked]

    @property
    def seconds_kernel(self) -> float:
        """Seconds of all kernels so far."""
        return self.clock.seconds

    def timer(self) -> CudaTimer:
        """Return a stopwatch on the stream."""
        return CudaTimer(self)

    def mark(self) -> CudaMark:
        """Return an event on the kernels' stream."""
        with self.calling("marking"):
            return CudaMark(self, self.context.mark(self.stream))

    def current(self) -> AbstractContextManager[Any]:
        """Give a block in which this GPU's context is current."""
        return self.calling("a call of another library")

    def opened(self, handle: bytes) -> int:
        """Return the address here of another GPU's memory, which is opened once.

        Raises
        ------
        EnvironmentFault
            The driver refuses: the GPUs cannot reach each other, or the processes not each other's memory.
        """
        own, address = handle[:64], ctypes.c_ulonglong()
        if own not in self.peers:
            made = IpcHandle.from_buffer_copy(own)
            with self.calling("opening another GPU's memory"):
                # PyCUDA closes a handle when its object is deleted, whatever has happened to the context.
                error = load_library().cuIpcOpenMemHandle_v2(ctypes.byref(address), made, ctypes.c_uint(LAZY_PEER))
            if error:
                raise EnvironmentFault(f"{self.gpu} cannot read another GPU's memory (CUDA error {error})")
            self.peers[own] = address.value
        return self.peers[own] + int.from_bytes(handle[64:], "little")

    def forget_handles(self) -> None:
        """Close the memory of other GPUs."""
        peers, self.peers = self.peers, {}
        for address in peers.values():
            with self.calling("closing another GPU's memory"):
                load_library().cuIpcCloseMemHandle(ctypes.c_ulonglong(address))

    def synchronize(self) -> None:
        """Wait until everything that is queued is done."""
        with self.calling("waiting for the GPU"):
            self.downloads.advance_until_idle()
            self.stream.synchronize()

    def release(self, allocation: Allocation) -> None:
        """Free an allocation once the GPU has done what is queued. A second call does nothing."""
        if self.is_open:
            self.downloads.finish_from(allocation)
        pointer, allocation.pointer = allocation.pointer, None
        self.allocated -= 0 if pointer is None else allocation.nbytes
        if pointer is not None and self.is_open:
            with self.calling(f"freeing {allocation.nbytes} bytes"):
                self.stream.synchronize()  # PyCUDA does not report errors when it frees memory, so look for one first
                pointer.free()

    def close(self) -> None:
        """Free everything. A kernel's failure after the last copy affects no result, and is not reported."""
        self.downloads.stop()
        if self.is_open:
            with suppress(EnvironmentFault), self.calling("closing"):
                self.stream.synchronize()
                for stream in filter(None, self.copies):
                    stream.synchronize()
                self.downloads.clear()
                self.forget_handles()
                self._release_all()
                self.stream = None
                self.kernels.clear()
                self.modules.clear()
        self.context.close()
        self.stream = None
        self.copies = [None, None]
        self.downloads.clear()
        self.kernels.clear()
        self.modules.clear()

    def _allocate(self, nbytes: int) -> Allocation:
        with self.calling(f"allocating {nbytes} bytes") as cuda:
            try:
                pointer = cuda.mem_alloc(max(nbytes, 1))
            except (cuda.MemoryError, OverflowError):
                free, total = cuda.mem_get_info()
                raise ResourceError(
                    f"{nbytes} bytes do not fit on {self.gpu}: {free} of its {total} bytes are free; "
                    "use more GPUs or a smaller instance"
                ) from None
        allocation = Allocation(self, pointer, nbytes)
        self.allocations.add(allocation)
        self.allocated += nbytes
        self.memory_peak = max(self.memory_peak, self.allocated)
        return allocation

    def _release_all(self) -> None:
        for allocation in list(self.allocations):
            self.release(allocation)
        for _, unlock in list(self.pinned.values()):
            unlock()

    def _unlock(self, address: int) -> None:
        del self.pinned[address]
        if self.is_open:
            with self.calling("unlocking pages"):
                load_library().cuMemHostUnregister(ctypes.c_void_p(address))

    def _module(self, file: str) -> Any:
        if file not in self.modules:
            image = build.cubin(file, self.gpu.architecture)
            made = f"compiled for {self.gpu.architecture} by {self.info.compiler}"
            with self.calling(f"loading {file}.cu, {made}, the driver for CUDA {driver_version()},") as cuda:
                self.modules[file] = cuda.module_from_buffer(image)
        return self.modules[file]


@dataclass(frozen=True)
class CudaKernel:
    """A function of a loaded module that takes its arguments in one packed buffer. See `base.Kernel`."""

    declaration: Declaration
    function: Any
    device: CudaDevice

    def __call__(self, grid: int, block: int, /, **arguments: base.Argument) -> None:
        """Queue `grid` blocks of `block` threads."""
        packed = self.declaration.packed(arguments, self.device)
        if grid > 0:
            self._launch(grid, block, (packed,))

    def each(self, step: str, steps: range, grid: int, block: int, /, **arguments: base.Argument) -> None:
        """Queue the launches of all steps."""
        if grid > 0:
            self._launch(grid, block, self.declaration.packed_steps(step, steps, arguments, self.device))

    def _launch(self, grid: int, block: int, calls: Iterable[bytes]) -> None:
        # PyCUDA's prepared calls do the same after packing the arguments, which are packed already.
        launch, stream, blocks, threads = self.function._launch_kernel, self.device.stream, (grid, 1, 1), (block, 1, 1)
        clock = self.device.clock
        goes_on = clock.goes_on()
        with self.device.calling(f"kernel {self.declaration.kernel}, {grid} blocks of {block} threads,"):
            if not goes_on:
                clock.begin()
            for packed in calls:
                launch(blocks, threads, packed, 0, stream)
            clock.end()
        self.device.context.last_kernel = self.declaration.kernel


def blocks_a_multiprocessor(image: bytes, name: str, threads: int) -> int:
    """Return how many blocks of a kernel of a cubin a multiprocessor holds. The context must be current.

    PyCUDA keeps the driver's handles to itself, and its own computation does not know newer GPUs. So the cubin is
    loaded once more.

    Raises
    ------
    EnvironmentFault
        The driver does not answer.
    """
    library, module, function, blocks = load_library(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    error = library.cuModuleLoadData(ctypes.byref(module), ctypes.c_char_p(image))
    if not error:
        error = library.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
        if not error:
            occupancy, no_shared = library.cuOccupancyMaxActiveBlocksPerMultiprocessor, ctypes.c_size_t(0)
            error = occupancy(ctypes.byref(blocks), function, threads, no_shared)
        library.cuModuleUnload(module)
    if error:
        raise EnvironmentFault(f"kernel {name}: the driver does not tell how many blocks of {threads} threads a "
                               f"multiprocessor holds (CUDA error {error}); try a newer driver, or --device cpu")
    return blocks.value


@dataclass(eq=False)
class CudaTimer:
    """The time between events of the stream. See `base.Timer`."""

    device: CudaDevice
    total: float = 0.0
    spans: list[tuple[Any, Any]] = field(default_factory=list)
    started: Any = None

    MOST_SPANS = 512
    """Spans after which they are summed up, since a run may time a million launches and each span holds two events."""

    def start(self) -> None:
        """Mark the beginning."""
        self.started = self._mark()

    def stop(self) -> None:
        """Mark the end."""
        self.spans.append((self.started, self._mark()))
        if len(self.spans) >= self.MOST_SPANS:
            self._sum_up(self.MOST_SPANS // 2)

    @property
    def seconds(self) -> float:
        """The sum so far, in seconds. Reading it waits for the last mark."""
        self._sum_up()
        return self.total

    def _mark(self) -> Any:
        with self.device.calling("timing"):
            return self.device.context.mark(self.device.stream)

    def _sum_up(self, but: int = 0) -> None:
        """Add the spans but the newest ones, whose end may be far away."""
        count = max(0, len(self.spans) - but)
        summed, self.spans = self.spans[:count], self.spans[count:]
        if summed:
            with self.device.calling("timing"):
                summed[-1][1].synchronize()
                self.total += sum(end.time_since(start) for start, end in summed) / 1e3
            self._give_back(summed)

    def _give_back(self, spans: list[tuple[Any, Any]]) -> None:
        self.device.context.spare.extend(event for span in spans for event in span)

    def __del__(self) -> None:
        """Give the events to other timers."""
        self._give_back(self.spans)


@dataclass(eq=False)
class KernelClock(CudaTimer):
    """The time of all kernels, by events around each burst of launches.

    A burst is of launches that follow at once, with nothing else asked of the GPU between them.

    Attributes
    ----------
    last
        When the last launch was queued, 0 if anything else was asked of the GPU since.
    """

    last: float = 0.0

    LONGEST_PAUSE = 2e-5
    """Seconds between launches of a burst, some more than Python takes for a launch."""

    def goes_on(self) -> bool:
        """Return whether a launch now belongs to the last burst."""
        return bool(self.spans) and time.perf_counter() - self.last < self.LONGEST_PAUSE

    def begin(self) -> None:
        """Begin a burst. The context must be current."""
        mark, stream = self.device.context.mark, self.device.stream
        if len(self.spans) >= self.MOST_SPANS:
            self._sum_up(self.MOST_SPANS // 2)
        self.spans.append((mark(stream), mark(stream)))

    def end(self) -> None:
        """Move the end of the burst behind the last launch."""
        self.spans[-1][1].record(self.device.stream)
        self.last = time.perf_counter()
