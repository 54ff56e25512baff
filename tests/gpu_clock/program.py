"""Runs what is counted for one of the benchmark's cases, on the stub driver: program.py NAME."""

from __future__ import annotations

import sys

from hpcsolve.device.select import open_device
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.gpu.measure import timed
from tests.gpu_clock.cases import counted


def main(name: str) -> None:
    """Solve the problem once."""
    case = counted()[name].case
    problem = case.problem()
    with open_device("cuda", SerialComm(), share_gpu=True)[0] as device:
        timed(case, problem, device, SerialComm())


if __name__ == "__main__":
    main(sys.argv[1])
