"""Estimates how long a job takes from its first iterations."""

from __future__ import annotations

import msgspec

from hpcsolve.algorithms.ant_colony.parameters import Parameters, ants_of
from hpcsolve.algorithms.ant_colony.solve import DEFAULT_ITERATIONS, run
from hpcsolve.algorithms.base import NO_STOP, StopCriteria
from hpcsolve.algorithms.trial import Stopwatch, Trial
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.parallel.partition import even_shares
from hpcsolve.problems.tsp import Tsp
from hpcsolve.wording import counted

SECONDS = 1.0
"""Seconds that the trial iterates for."""


def trial(tsp: Tsp, parameters: Parameters, criteria: StopCriteria, ranks: int, device: Device, seed: int) -> Trial:
    """Iterate the colonies of a rank for a second."""
    if criteria == NO_STOP:
        criteria = StopCriteria(iterations=DEFAULT_ITERATIONS)
    given = msgspec.structs.replace(parameters, colonies=len(even_shares(parameters.colonies, ranks)[0]))
    watch = Stopwatch()
    part = StopCriteria(seconds=SECONDS, iterations=criteria.iterations)
    outcome = run(tsp, device, SerialComm(), given, watch, part, seed)
    seconds = watch.seconds() - watch.setup
    count = round(outcome.rank["operations"] / (given.colonies * ants_of(given, tsp.n) * tsp.n))
    each = seconds / count
    limits = [] if criteria.seconds is None else [criteria.seconds + each]
    limits += [] if criteria.iterations is None else [criteria.iterations * each]
    measured_on = f"{counted(count, 'iteration')}, {each:.2g} s each"
    return Trial(tsp, given, outcome, watch.setup, min(limits, default=None), measured_on, open_end=_open_end(criteria))


def _open_end(criteria: StopCriteria) -> str:
    """Return which criteria may end the search at a time that cannot be foreseen, in words, or ""."""
    keys = [key for key in ("target", "stagnation") if getattr(criteria, key) is not None]
    return f"[stop] {' or '.join(keys)} may end it at any time" if keys else ""
