"""Counts the instructions of Held-Karp's kernel on a GPU, and computes from them the least time on an H200.

    python -m jobs.benchmarks.held_karp.instructions             # asymmetric, n = 28, 30, 32, 34
    python -m jobs.benchmarks.held_karp.instructions 32 33

Nothing runs: the counts follow from the loops of cuda_src/held_karp/block.cuh, and `make check-cuda` shows in the
machine code that a min-add of a warp is one instruction there (VIADDMNMX). Prints Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from math import comb

from hpcsolve.algorithms.held_karp.lattice.split import Split, split_cities
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.held_karp.peak import min_adds

CLOCK, MULTIPROCESSORS = 1.755e9, 132
"""Assumed of an H200."""
MIN_ADDS_A_CLOCK, WORDS_A_CLOCK = 2, 1
"""Instructions of a warp, and words that shared memory gives each thread of a warp, on one multiprocessor: assumed."""
BYTES_A_SECOND = 4.3e12
"""From memory and to it: assumed."""
WIDEST_TILE = 12
TITLES = ["n", "states", "useful min-adds", "instructions", "executed / useful", "words of costs", "loads",
          "min-adds ms", "shared memory ms", "memory ms"]


@dataclass(frozen=True)
class Registers:
    """How values are held, as cuda_src/device/warp.cuh says.

    Attributes
    ----------
    itemsize
        Bytes of a state.
    lane_bits
        Lane cities of a register.
    together
        Registers that a warp solves at a time, for which it reads a cost once.
    """

    itemsize: int
    lane_bits: int
    together: int


GPU = (Registers(2, 6, 2), Registers(4, 5, 2))


@dataclass(frozen=True)
class Work:
    """What all warps execute in the runs from both ends.

    Attributes
    ----------
    min_adds
        Instructions.
    words
        Words of costs that a thread reads from shared memory, four at a time but for those to inner cities.
    loads
        Loads of values, each a word for a thread.
    """

    min_adds: int
    words: int
    loads: int


def work(split: Split, registers: Registers) -> Work:
    """Return the work of an asymmetric problem."""
    parts = [_of_one_size(split, registers, *sizes) for sizes in _sizes(split, registers)]
    return Work(*(2 * sum(part) for part in zip(*parts)))


def _sizes(split: Split, registers: Registers) -> Iterator[tuple[int, int, int]]:
    """Yield the numbers of mid, top and inner cities that a set may have."""
    for mid in range(split.middle + 1):
        for top in range(split.top + 1):
            for inner in range(split.low - registers.lane_bits + 1):
                yield mid, top, inner


def _of_one_size(split: Split, registers: Registers, mid: int, top: int, inner: int) -> tuple[int, int, int]:
    """Return the work of all sets with so many cities. If their number is odd, one of them is solved twice."""
    b, together = registers.lane_bits, registers.together
    calls = comb(split.mid, mid) * comb(split.top, top) * -(-comb(split.low - b, inner) // together)
    sources, targets = max(1, mid + top), split.mid + split.top - mid - top
    others = split.low - b - inner
    among_lanes = b * (b - 1) ** 2
    min_adds = (sources + inner) * (b + others + targets) + among_lanes + b * (others + targets)
    shared = sources * (b + targets) + among_lanes + b * targets  # costs that serve all registers of a call
    own = sources * others + inner * (b + others + targets) + b * others
    loads = (sources + inner) * (1 + -(-targets // WIDEST_TILE))
    return calls * together * min_adds, calls * (shared + together * own), calls * together * loads


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}" if __spec__ else None, description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", type=int, nargs="*", default=[28, 30, 32, 34], metavar="N", help="cities")
    rows = [_row(n, registers) for n in parser.parse_args().sizes for registers in GPU]
    print("\n".join(markdown(TITLES, rows)))


def _row(n: int, registers: Registers) -> list[str]:
    split, per_clock = split_cities(n - 1), 1e3 / MULTIPROCESSORS / CLOCK
    done, lanes = work(split, registers), 1 << registers.lane_bits
    moved = 2 * split.mid * registers.itemsize << (n - 2)
    times = (done.min_adds / MIN_ADDS_A_CLOCK * per_clock, (done.words + done.loads) / WORDS_A_CLOCK * per_clock,
             1e3 * moved / BYTES_A_SECOND)
    counts = (f"{done.min_adds:.3g}", f"{done.min_adds * lanes / min_adds(n):.2f}", f"{done.words:.3g}",
              f"{done.loads:.3g}")
    return [str(n), f"{8 * registers.itemsize}-bit", f"{min_adds(n):.3g}", *counts, *(f"{each:.3g}" for each in times)]


if __name__ == "__main__":
    main()
