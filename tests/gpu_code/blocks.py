"""The number of threads of a block with which hpcsolve launches each kernel on a GPU."""

from __future__ import annotations

from hpcsolve.algorithms.ant_colony import Parameters, ant_system, max_min
from hpcsolve.algorithms.ant_colony.instance import ANT_THREADS
from hpcsolve.algorithms.held_karp.bounded import layers, relaxation, timed
from hpcsolve.algorithms.held_karp.bounded.tighten import DESCENT_THREADS
from hpcsolve.algorithms.held_karp.lattice.planes import BLOCK_THREADS
from hpcsolve.algorithms.shortest_paths import reductions, searches
from hpcsolve.algorithms.shortest_paths.engines import phast, studies, tile
from hpcsolve.algorithms.tours.k_opt import WARP

THREADS = {
    "ant_system": ant_system.CITY_THREADS,
    "best_tours": ANT_THREADS,
    "head_tail": ANT_THREADS,
    "held_karp": BLOCK_THREADS,
    "k_opt": WARP,
    "max_min_construct": ANT_THREADS,
    "max_min_sample": ANT_THREADS,
    "max_min": max_min.ROW_THREADS,
    "min_add": BLOCK_THREADS,
    "minplus": BLOCK_THREADS,
    "orders": BLOCK_THREADS,
    "prizes": layers.THREADS,
    "roulette": Parameters().block_threads,
    "bounds": relaxation.THREADS,
    "bounds_walk": 32,
    "descent": DESCENT_THREADS,
    "layers": layers.THREADS,
    "bellman_ford": searches.BLOCK_THREADS,
    "batch": BLOCK_THREADS,
    "dijkstra": searches.BLOCK_THREADS,
    "near_far": searches.BLOCK_THREADS,
    "p_pull": studies.STRETCH,
    "phast": phast.THREADS,
    "plateaus": phast.THREADS,
    "tile": tile.THREADS,
    "summaries": reductions.THREADS,
    "timed": timed.THREADS,
    "timed_walk": 32,
}
"""Threads of a block by the beginning of the kernel's name. The longest one that fits counts."""


def threads_of(kernel: str) -> int:
    """Return the threads of a block. Raises `LookupError` if the kernel is not in the table."""
    known = [beginning for beginning in THREADS if kernel.startswith(beginning)]
    if not known:
        raise LookupError(f"add {kernel} to tests/gpu_code/blocks.py: how many threads has a block of it?")
    return THREADS[max(known, key=len)]
