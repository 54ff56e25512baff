"""What others measured with the Ant System: as many ants as cities, alpha 1, beta 2, rho 0.5, no local search.

Zhou, He and Qiu, "Dynamic strategy based parallel ant colony optimization on GPUs for TSPs", Tables C1 to C6: one core
of an Intel i7-4770, and an NVIDIA GTX 780. The other times on GPUs are as their papers give them; each is the same
algorithm but for Cecilia's I-Roulette, which draws by another distribution.
"""

from __future__ import annotations

INSTANCES = ("d198", "lin318", "pcb442", "rat783", "pr1002", "fl1577", "pr2392", "pcb3038", "fnl4461")
"""The study's nine, by size; the number in the name is that of the cities."""

CPU: dict[str, float] = {"d198": 15, "lin318": 54, "pcb442": 198, "rat783": 1519, "pr1002": 2909, "fl1577": 10157,
                         "pr2392": 47987, "fnl4461": 397991}  # fmt: skip
GPU: dict[str, float] = {"d198": 1.09, "lin318": 2.06, "pcb442": 5.72, "rat783": 37.6, "pr1002": 61.6, "fl1577": 270.7,
                         "pr2392": 1001.8, "fnl4461": 8903.6}  # fmt: skip
"""Milliseconds an iteration, the study's own programs; of its strategies on the GPU the quickest."""

OTHER_GPUS = {
    "Cecilia et al. 2013, C2050 (I-Roulette)": {"pr1002": 149.9, "pr2392": 2026.0},
    "Uchida et al. 2012, GTX 580": {"pr1002": 87.1, "pr2392": 2085.0},
    "Dawson and Stewart 2013, GTX 580": {"pr1002": 85.1, "pr2392": 1979.0},
}
"""Milliseconds an iteration."""

ITERATIONS = 1000
QUALITY = {"d198": (17302, 17018, 17483), "lin318": (47406, 47029, 47878), "pcb442": (61752, 60653, 62378),
           "rat783": (10987, 10762, 11101), "pr1002": (328936, 325376, 333244)}  # fmt: skip
"""Table C6: mean, least and greatest length of its CPU program's tours after so many iterations, ten runs."""

GAP = {"d198": 9.6, "lin318": 12.8, "pcb442": 21.6, "rat783": 24.8, "pr1002": 27.0, "fl1577": 17.7, "pr2392": 34.1,
       "pcb3038": 35.3, "fnl4461": 37.0}  # fmt: skip
"""The same means above the optimum, in percent, all nine."""
