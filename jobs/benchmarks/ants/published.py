"""What others measured with the Ant System: as many ants as cities, alpha 1, beta 2, rho 0.5, no local search.

"The study" is Zhou, He and Qiu, "Dynamic strategy based parallel ant colony optimization on GPUs for TSPs", Tables C1
to C6, measured on one core of an Intel i7-4770 and on an NVIDIA GTX 780. The other times on GPUs are those of their
papers, all for the same algorithm, except for Cecilia's I-Roulette, which draws from another distribution.
"""

from __future__ import annotations

INSTANCES = ("d198", "lin318", "pcb442", "rat783", "pr1002", "fl1577", "pr2392", "pcb3038", "fnl4461")
"""The study's nine instances, by size; the number in the name is that of the cities."""

CPU: dict[str, float] = {
    "d198": 15, "lin318": 54, "pcb442": 198, "rat783": 1519, "pr1002": 2909, "fl1577": 10157, "pr2392": 47987,
    "fnl4461": 397991,
}
"""Milliseconds an iteration of the study's own CPU program."""

GPU: dict[str, float] = {
    "d198": 1.09, "lin318": 2.06, "pcb442": 5.72, "rat783": 37.6, "pr1002": 61.6, "fl1577": 270.7, "pr2392": 1001.8,
    "fnl4461": 8903.6,
}
"""Milliseconds an iteration of the study's own GPU program, with the fastest of its strategies."""

DYNAMIC = {"pr2392": 41.8}
"""Table C5: how many times as fast as the study's CPU program its strategy ST-DYNAMIC is."""

OTHER_GPUS = {
    "Cecilia et al. 2013, C2050 (I-Roulette)": {"pr1002": 149.9, "pr2392": 2026.0},
    "Uchida et al. 2012, GTX 580": {"pr1002": 87.1, "pr2392": 2085.0},
    "Dawson and Stewart 2013, GTX 580": {"pr1002": 85.1, "pr2392": 1979.0},
}
"""Milliseconds an iteration."""

ITERATIONS = 1000
"""Iterations of a run in Table C6."""
QUALITY = {
    "d198": (17302, 17018, 17483), "lin318": (47406, 47029, 47878), "pcb442": (61752, 60653, 62378),
    "rat783": (10987, 10762, 11101), "pr1002": (328936, 325376, 333244),
}
"""Table C6: mean, least and greatest length of the best tours of ten runs of the study's CPU program."""
