"""The GPUs that this process sees, through PyCUDA. Calls load NVIDIA's libraries, the import does not."""

from __future__ import annotations

import ctypes
import os
import re
import uuid
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcsolve.errors import ResourceError

FUNCTIONS_SINCE = {
    "cuDevicePrimaryCtxRelease_v2": (11, 0), "cuCtxCreate_v4": (12, 5), "cuEventElapsedTime_v2": (12, 8),
}
"""The versions of CUDA (cudaTypedefs.h) that brought functions of the driver which PyCUDA needs or may need."""


@dataclass(frozen=True)
class Gpu:
    """One visible GPU, or a MIG slice of one.

    Attributes
    ----------
    index
        Its number among the visible ones, in the order of nvidia-smi.
    uuid
        `GPU-...` or `MIG-...`, as nvidia-smi prints it.
    bus
        PCI bus id.
    memory
        Bytes in all.
    capability
        Compute capability, major and minor.
    multiprocessors
        Number of multiprocessors, which work on blocks at the same time.
    """

    index: int
    name: str
    uuid: str
    bus: str
    memory: int
    capability: tuple[int, int]
    multiprocessors: int = 1

    @property
    def architecture(self) -> str:
        """The compute capability as nvcc's option -arch takes it, `sm_90`."""
        return "sm_{}{}".format(*self.capability)

    def __str__(self) -> str:
        """Return a description for messages: `GPU 0 (NVIDIA H100, GPU-2f6c...)`."""
        return f"GPU {self.index} ({self.name}, {self.uuid})"


def list_gpus() -> list[Gpu]:
    """Return the GPUs that this process sees, at least one.

    Raises
    ------
    ResourceError
        There is no GPU, no driver, or no PyCUDA. The message says which.
    """
    cuda, library = load_driver(), load_library()
    gpus = [_describe(cuda, library, index) for index in range(cuda.Device.count())]
    if not gpus:
        raise ResourceError(_nothing_visible())
    return gpus


def load_driver() -> Any:
    """Return PyCUDA's module `driver`, initialised. PyCUDA has no type hints, so it is `Any`.

    Raises
    ------
    ResourceError
        PyCUDA or the driver is missing, the driver is too old for this PyCUDA, or it finds no GPU.
    """
    # By default the driver numbers the fastest GPU 0, but `cuda:1` must be the GPU 1 of nvidia-smi.
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an old driver PyCUDA warns in many lines, beside the error
            import pycuda.driver as cuda
    except ModuleNotFoundError:
        raise ResourceError("PyCUDA is not installed (pip install pycuda)") from None
    except ImportError as error:
        raise ResourceError(_why_not_imported(error)) from None
    try:
        cuda.init()
    except cuda.Error as error:
        raise ResourceError(f"{_nothing_visible()} ({error})") from None
    return cuda


def load_library() -> ctypes.CDLL:
    """Return the driver's library, for the few functions that PyCUDA lacks."""
    return ctypes.CDLL("libcuda.so.1")


def driver_version() -> str:
    """Return the version of CUDA that the driver is for, such as `12.4`. It runs what older toolkits made, too."""
    version = ctypes.c_int()
    load_library().cuDriverGetVersion(ctypes.byref(version))
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def _describe(cuda: Any, library: ctypes.CDLL, index: int) -> Gpu:
    device = cuda.Device(index)
    name = device.name()
    return Gpu(
        index=index,
        name=name,
        uuid=("MIG-" if " MIG " in name else "GPU-") + _uuid(library, index),
        bus=device.pci_bus_id(),
        memory=device.total_memory(),
        capability=device.compute_capability(),
        multiprocessors=device.get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT),
    )


def _uuid(library: ctypes.CDLL, index: int) -> str:
    handle, content = ctypes.c_int(), ctypes.create_string_buffer(16)
    library.cuDeviceGet(ctypes.byref(handle), ctypes.c_int(index))
    # The second version distinguishes the MIG slices of one GPU; drivers before CUDA 11.4 have only the first.
    read = getattr(library, "cuDeviceGetUuid_v2", None) or library.cuDeviceGetUuid
    read(content, handle)
    return str(uuid.UUID(bytes=content.raw))


def _why_not_imported(error: ImportError) -> str:
    """Return why PyCUDA's extension could not be loaded: no driver, one that lacks a function, or something else."""
    if "libcuda" in str(error):
        return f"PyCUDA finds no NVIDIA driver ({error})"
    missing = re.search(r"undefined symbol: (cu\w+)", str(error))
    if missing is None:
        return f"PyCUDA cannot be loaded ({error}); install it again"
    own, needed = driver_version(), _needed_version(Path(error.path or os.devnull).read_bytes())
    return (
        f"NVIDIA's driver is too old for this PyCUDA: it is for CUDA {own}, without {missing[1]}, "
        f"and {needed} is needed; update the driver, or build PyCUDA again with the toolkit of CUDA {own}"
    )


def _needed_version(extension: bytes) -> str:
    """Return the least version of CUDA that has the driver's functions which PyCUDA's extension names."""
    versions = [version for name, version in FUNCTIONS_SINCE.items() if name.encode() in extension]
    return "CUDA {}.{} or newer".format(*max(versions)) if versions else "a newer one"


def _nothing_visible() -> str:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return "the driver shows no GPU" + ("" if visible is None else f", CUDA_VISIBLE_DEVICES={visible!r}")
