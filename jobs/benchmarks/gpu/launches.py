"""Microseconds that Python takes for a launch: packing its arguments, and handing them to the driver.

    python -m jobs.benchmarks.gpu.launches --device cuda

The kernels find no work, so the GPU is done before the next launch is packed: what is timed is the host's part.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from hpcsolve.device import build
from hpcsolve.device.base import Argument, Device
from hpcsolve.device.declaration import Struct, Value, declaration_of
from hpcsolve.device.select import open_device
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.command import add_repeats, end_with, new_parser
from jobs.benchmarks.common.table import markdown

KERNELS: Mapping[str, tuple[str, str]] = {
    "minplus_multiply": ("held_karp/minplus", "targets"),
    "held_karp_step_u2": ("held_karp/held_karp", "chunks"),
    "near_far_solve_u4": ("paths/near_far", "count"),
}
"""Kernels by name: their file, and the number that must be 0 for them to find no work."""
AT_ONCE = 200
"""Launches in a row, fewer than the driver queues before a launch waits."""


def main() -> int:
    """Print the table and return the exit code."""
    parser = new_parser("jobs.benchmarks.gpu.launches", __doc__)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:1 (default cpu)")
    add_repeats(parser, 20)
    options = parser.parse_args()
    device, reason = open_device(options.device, SerialComm(), share_gpu=True, threads=1)
    with device:
        print(f"{reason}\n")
        print("\n".join(table(device, options.repeats)))
    return 0


def table(device: Device, repeats: int) -> list[str]:
    """Return the lines of a table with a row for each kernel."""
    rows = [[name, *(f"{figure:.3g}" for figure in measured(device, name, repeats))] for name in KERNELS]
    return markdown(["kernel", "arguments", "packing us", "launch us"], rows)


def measured(device: Device, name: str, repeats: int) -> tuple[int, float, float]:
    """Return the number of a kernel's arguments, and the microseconds of packing and of the whole launch."""
    file, nothing = KERNELS[name]
    declaration = declaration_of(build.source_folder(), file, name)
    arguments = {each.name: _given(each, nothing, device) for each in declaration.parameters}
    kernel = device.kernel(file, name)
    count = sum(len(each.fields) if isinstance(each, Struct) else 1 for each in declaration.parameters)
    packing = _least(lambda: declaration.packed(arguments, device), device, repeats)
    return count, packing, _least(lambda: kernel(1, 32, **arguments), device, repeats)


def _given(parameter: Value | Struct, nothing: str, device: Device) -> Argument:
    if isinstance(parameter, Struct):
        return {field.name: _given(field, nothing, device) for field in parameter.fields}
    return device.zeros(64, parameter.dtype) if parameter.pointer else int(parameter.name != nothing)


def _least(call: Callable[[], object], device: Device, repeats: int) -> float:
    """Return the microseconds of a call, the least mean of so many rounds."""
    means = []
    for _ in range(repeats):
        device.synchronize()
        started = time.perf_counter()
        for _ in range(AT_ONCE):
            call()
        means.append((time.perf_counter() - started) / AT_ONCE * 1e6)
    return min(means)


if __name__ == "__main__":
    end_with(main, "jobs.benchmarks.gpu.launches")
