"""Where the time of a run went, in one line."""

import numpy as np
import pytest

from hpcsolve.analysis.plot.run import OTHER, diagnosis, seconds_by_phase
from tests.analysis.results import changed

NONE = {"read": 0, "build": 0, "copy": 0, "kernel": 0, "wait": 0, "check": 0, "write": 0, "run": 0}


def timed(results, ranks, **seconds):
    times = {f"seconds_{name}": np.zeros(ranks) + value for name, value in {**NONE, **seconds}.items()}
    return changed(results("tour"), "ranks", host=np.array(["h"] * ranks, object), **times)


@pytest.mark.parametrize(("ranks", "seconds", "said"), [
    (1, {"kernel": 8, "run": 9, "write": 1}, "80 % of the time is in kernels"),
    (1, {"build": 30, "run": 10},
     "75 % of the time is compiling or loading kernels; a later run finds them in the cache"),
    (1, {"run": 10, "read": 2.5}, "80 % of the time is other work"),
    (1, {}, "no time was measured"),
    (1, {"kernel": 4, "wait": 6, "run": 10}, "60 % of the time is waiting"),  # nobody else is there to wait for
    (2, {"kernel": [9, 6], "wait": [1, 4], "run": 10},
     "75 % of the time is in kernels; rank 1 waits 40 % of the algorithm's time for other ranks"),
    (3, {"kernel": [9, 7, 6], "wait": [1, 3, 4], "run": 10},
     "73 % of the time is in kernels; rank 2 waits 40 % of the algorithm's time for other ranks, "
     "and 1 more rank waits long"),
])
def test_the_diagnosis(ranks, seconds, said, results):
    assert diagnosis(timed(results, ranks, **seconds)) == said


def test_the_phases_add_up_to_the_run(results):
    result = results("ants")
    phases, table = seconds_by_phase(result), result.table("ranks")
    inside = phases["kernel"] + phases["copy"] + phases["wait"] + phases[OTHER]
    assert np.allclose(inside, table["seconds_run"]) and (phases["kernel"] > 0).all()
