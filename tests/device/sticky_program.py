"""Uses a device after one of its kernels failed, as a program with much alive does, and prints what each use says.

The stub driver then answers every call with the error. PyCUDA ends the process if one of its objects is deleted
while the driver does that, unless it knows that the context is gone.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

import numpy as np

from hpcsolve.device.cuda import CudaDevice
from hpcsolve.device.select import list_gpus
from hpcsolve.errors import HpcsolveError
from tests.device.test_protocol import minplus


def main() -> None:
    """Fail, then use everything."""
    device = CudaDevice(list_gpus()[0])
    buffer, freed, timer = device.zeros(8, np.uint8), device.zeros(8, np.uint8), device.timer()
    locked, large, arriving = device.staging(8, np.uint8), device.zeros(9 << 20, np.uint8), np.empty(9 << 20, np.uint8)
    begun = large.start_download(arriving)
    timer.start()
    timer.stop()
    timer.start()
    uses: dict[str, Callable[[], object]] = {
        "launch": lambda: minplus(device, 32), "wait": begun.wait, "download": buffer.download,
        "synchronize": device.synchronize,
        "upload": lambda: buffer.upload(locked), "allocate": lambda: device.empty(8, np.uint8),
        "time": lambda: timer.seconds, "stage": lambda: device.staging(8, np.uint8), "free": freed.free,
        "launch again": lambda: minplus(device, 32), "memory": device.memory_free, "large": large.download,
        "start": lambda: large.start_download(arriving), "close": device.close,
        "open again": lambda: CudaDevice(list_gpus()[0]), "download after": buffer.download,
    }
    for name, use in uses.items():
        try:
            use()
            print(f"{name}: nothing")
        except HpcsolveError as error:
            print(f"{name}: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
    gc.collect()
    print("done")
