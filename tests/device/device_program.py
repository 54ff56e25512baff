"""Opens a device as a run does, computes with it, and prints its name. An error ends it as it ends the command line.

    device_program.py REQUEST [share] [exchange]

`share`: ranks may share a GPU. `exchange`: every rank sends a product through staging to the next rank and checks it.
"""

from __future__ import annotations

import sys

import numpy as np

from hpcsolve.device.base import Device
from hpcsolve.device.select import open_device
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.launch import guard
from hpcsolve.wording import show


def main(comm: Comm, request: str, *words: str) -> int:
    """Open the device, compute with it, and return the exit code."""
    device, reason = open_device(request, comm, share_gpu="share" in words)
    with device:
        show(f"rank {comm.rank} has {device.info.kind} {device.info.uuid}: {reason}")
        product = work(device)
        if "exchange" in words:
            exchange(device, comm, product)
    return 0


def work(device: Device) -> int:
    """Return the sum of a min-plus product of 1 x 8 by 1 x 512, which is checked."""
    rows = np.arange(512, dtype=np.uint16)[None]
    cost = np.arange(8, dtype=np.uint32)[None]
    kernel = device.kernel("held_karp/minplus", "minplus_multiply")
    out = device.empty((8, 512), np.uint16)
    kernel(4, 64, sources=1, targets=8, length=512, chunk=128, rows=device.upload(rows),
           cost=device.upload(cost * 0x10001), out=out)
    result = out.download()
    assert (result == rows + cost.T).all()
    return int(result.sum())


def exchange(device: Device, comm: Comm, product: int) -> None:
    """Send `product` and this rank's number round the ring."""
    outgoing, incoming = device.staging(2, np.int64), device.staging(2, np.int64)
    device.upload(np.array([product, comm.rank])).download(outgoing)
    before, after = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    requests = [comm.receive(incoming, before), comm.send(outgoing, after)]
    for request in requests:
        request.wait()
    assert device.upload(incoming).download().tolist() == [product, before]


if __name__ == "__main__":
    sys.exit(guard(lambda comm: main(comm, *sys.argv[1:])))
