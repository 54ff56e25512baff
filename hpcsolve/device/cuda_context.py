"""The primary context of a GPU, through PyCUDA: current only inside a call, and given up once a kernel has broken it.

Of an error that a kernel makes (an illegal address, say) NVIDIA's documentation says: "any further CUDA work will
return the same error", and of nearly every function, pushing and popping contexts included, that it "may also return
error codes from previous, asynchronous launches". So the first error is kept and raised by every later call. The
context is released at once: PyCUDA would call the driver whenever one of its objects is deleted, and an error there
ends the process. It leaves objects alone whose context is gone.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from hpcsolve.device.gpus import Gpu, load_driver, load_library
from hpcsolve.errors import EnvironmentFault, LaunchError


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
