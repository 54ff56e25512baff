"""Runs fast-tsp on a file of cities with coordinates. Started by `solvers.py`. It needs nothing of hpcsolve.

    python -m jobs.benchmarks.edge_assembly.with_fast_tsp cities.tsp SECONDS STRETCH TOUR

SECONDS are CPU seconds of this process, the start of Python and reading included. fast-tsp's limit is of wall-clock
time: of that a CPU second takes STRETCH seconds on a busy machine. The positions of the tour's cities are written into
the file TOUR. Prints `scaled` if costs had to be scaled to 16 bits, and at the end `wall W cpu C` of the search alone.
"""

from __future__ import annotations

import sys
import time

import fast_tsp
import numpy as np
from numpy.typing import NDArray

LARGEST = 2**16 - 1


def costs(path: str) -> NDArray[np.uint16]:
    """Return the costs that a TSPLIB file of cities with coordinates gives, scaled down if they are above 2^16 - 1."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    head, section = text.split("NODE_COORD_SECTION", 1)
    kind = next(line.split(":", 1)[1].strip() for line in head.splitlines() if line.startswith("EDGE_WEIGHT_TYPE"))
    x, y = np.array(section.split("EOF", 1)[0].split(), float).reshape(-1, 3)[:, 1:].T
    n, largest = len(x), np.hypot(np.ptp(x), np.ptp(y)) + 1
    found, scale = np.empty((n, n), np.uint16), min(1.0, LARGEST / largest)
    if scale < 1:
        print("scaled", flush=True)
    for row in range(n):
        length = np.sqrt((x - x[row]) ** 2 + (y - y[row]) ** 2)
        if kind == "ATT":
            length /= 10**0.5
        cost = np.floor(length + 0.5) if kind == "EUC_2D" else np.ceil(length)
        found[row] = cost if scale == 1 else np.floor(cost * scale + 0.5)
    return found


def main() -> None:
    """Read, search, and write the tour."""
    path, seconds, stretch, target = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
    matrix = costs(path)
    wall, cpu = time.perf_counter(), time.process_time()
    tour = fast_tsp.find_tour(matrix, duration_seconds=max(0.01, (seconds - cpu) * stretch), max_threads=1)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    with open(target, "w", encoding="ascii") as file:
        file.write(" ".join(map(str, tour)))
    print(f"wall {wall:.6f} cpu {cpu:.6f}", flush=True)


if __name__ == "__main__":
    main()
