"""The kernel files that follow from the keys of a job, so that they can be built before the instance is read."""

from __future__ import annotations

from typing import Any

from hpcsolve.algorithms.base import NO_STOP, StopCriteria
from hpcsolve.algorithms.held_karp import batch
from hpcsolve.algorithms.held_karp.bounded import run as bounded
from hpcsolve.algorithms.held_karp.lattice import half_run
from hpcsolve.algorithms.held_karp.lattice.orders import run as orders
from hpcsolve.algorithms.held_karp.method import FEWEST_CITIES, most_in_lattice, why_not_bounded
from hpcsolve.algorithms.held_karp.question import NO_EXTRA_ANSWERS, Parameters, extra_answers

BOUNDED = (*bounded.FILES, "ants/max_min", "ants/local_search")
KERNEL_FILES = (half_run.FILE, orders.FILE, batch.FILE, *BOUNDED)


def files_of(parameters: Parameters, instance: str | dict[str, Any], criteria: StopCriteria) -> tuple[str, ...]:
    """Return the kernel files to build ahead for a job.

    Parameters
    ----------
    instance
        As in the job. With a generator, the number of cities is known, and there are no precedences.

    Returns
    -------
    tuple of str
        The files of bounds are missing where "auto" takes the lattice. If that does not fit in the memory, and bounds
        take its place, their files are built when they are loaded.
    """
    if isinstance(instance, dict) and "batch" in instance:
        return (batch.FILE,)
    generated = isinstance(instance, dict) and "generate" in instance
    n = instance.get("n") if isinstance(instance, dict) and generated else None
    n = n if isinstance(n, int) else None  # a wrong value is refused where the instance is made
    lattice = _lattice_files(parameters, generated)
    if parameters.method == "lattice" or why_not_bounded(parameters):
        return lattice
    if parameters.method == "bounded":
        return BOUNDED if n is not None and n >= FEWEST_CITIES else (*lattice, *BOUNDED)
    few = n is not None and n <= most_in_lattice(parameters, precedences=False) and criteria == NO_STOP
    return lattice if few else (*lattice, *BOUNDED)


def _lattice_files(parameters: Parameters, generated: bool) -> tuple[str, ...]:
    constrained = parameters.before or parameters.position or parameters.not_position
    if parameters.objective != "sum" or constrained or extra_answers(parameters) != NO_EXTRA_ANSWERS:
        return (orders.FILE,)
    return (half_run.FILE,) if generated else (half_run.FILE, orders.FILE)  # a file may have precedences
