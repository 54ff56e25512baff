"""Two strategies on the same pheromone: the lengths of all ants' tours must have the same distribution."""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.ant_colony import Parameters
from hpcsolve.algorithms.ant_colony.colonies import no_incumbents
from hpcsolve.algorithms.ant_colony.instance import ant_instance, powers
from hpcsolve.algorithms.ant_colony.solve import search_of
from hpcsolve.device.host import HostDevice
from jobs.benchmarks.ants.instances import Instance
from jobs.benchmarks.common.table import markdown

ORACLE = "st-group"


def table(instances: list[Instance], iterations: list[int]) -> list[str]:
    """Return a table in Markdown that compares head-tail with st-group after so many iterations of head-tail."""
    names = ["instance", "after iterations", "tours of each", "mean, head-tail", f"mean, {ORACLE}", "difference",
             "in standard errors", "Kolmogorov-Smirnov p"]
    text = "One iteration of each strategy on the same pheromone: the lengths of all ants' tours."
    return [text, "", *markdown(names, [row for instance in instances for row in _rows(instance, iterations)])]


def _rows(instance: Instance, iterations: list[int]) -> list[list[str]]:
    renumbered, n = ant_instance(instance.tsp), instance.tsp.n
    rows, done = [], 0
    with HostDevice(1) as device:
        ours, oracle = (
            search_of(parameters)(device, renumbered, parameters, powers(renumbered, parameters),
                                  np.array([[seed, 0]], np.uint32))
            for seed, parameters in enumerate(Parameters(variant="ant-system", strategy=name)
                                              for name in ("head-tail", ORACLE))
        )
        for until in sorted(iterations):
            for iteration in range(done, until):
                ours.learn(iteration, ours.construct(iteration), no_incumbents(range(1), n))
            done = until
            oracle.buffers["pheromone"].upload(ours.buffers["pheromone"].download())
            found = [colony.construct(until).ravel().astype(float) for colony in (ours, oracle)]
            rows.append([instance.name, str(until), str(n), *_compare(*found)])
            print(*rows[-1], file=sys.stderr, flush=True)
    return rows


def _compare(ours: NDArray[np.float64], oracle: NDArray[np.float64]) -> list[str]:
    """Return both means, their difference in percent and in standard errors, and the p-value of the test."""
    from scipy.stats import ks_2samp  # takes a second, which each part of the benchmark would spend

    difference = ours.mean() - oracle.mean()
    error = np.hypot(ours.std(ddof=1), oracle.std(ddof=1)) / np.sqrt(len(ours))
    return [f"{ours.mean():.0f}", f"{oracle.mean():.0f}", f"{100 * difference / oracle.mean():+.2f} %",
            f"{difference / error:+.2f}", f"{ks_2samp(ours, oracle).pvalue:.3f}"]
