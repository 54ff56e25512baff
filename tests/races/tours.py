"""First tours, which the CPU makes whatever the device, and k-exchanges by the kernel of every kind of costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.tours.cities import Cities, kernel_cities
from hpcsolve.algorithms.tours.k_opt import KOpt
from hpcsolve.algorithms.tours.near import NearLists, near_lists
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.problems.tsp import from_matrix, from_points


def first_tours(
    host: HostDevice, cities: Cities, lists: NearLists, streams: list[int], threads: int = 2
) -> NDArray[np.uint32]:
    """Return first tours of nodes, shape (streams, nodes)."""
    tours = np.empty((len(streams), cities.nodes), np.uint32)
    host.call("host/first_tour", "first_tour_construct", where=cities.arguments(), near=lists.arguments(),
              count=len(streams), streams=np.array(streams, np.uint64), threads=threads, tours=tours)
    return tours


def tours_of_nodes(device: Device) -> None:
    """Check that tours stay tours that have the lengths that the kernels say."""
    host = device if isinstance(device, HostDevice) else HostDevice(2)
    rng = np.random.default_rng(5)
    costs, places = rng.integers(0, 50, (12, 12)), rng.integers(0, 30, (24, 2)).astype(float)
    instances = [from_matrix(costs), from_matrix(costs + costs.T)]
    instances += [from_points(places, metric, "some", np.arange(24)) for metric in ("EUC_2D", "CEIL_2D")]
    for tsp in instances:
        cities = kernel_cities(tsp, [(1, 2), (2, 5), (7, 9)])
        lists = near_lists(host, cities, 5, 1)
        tours = first_tours(host, cities, lists, [1, 2, 3, 4])
        before = cities.costs_of(tours) - cities.shift
        search = KOpt.of_nodes(device, cities, lists, 2)
        lengths = search.improved(tours)
        search.close()
        assert (lengths <= before).all() and np.array_equal(lengths, cities.costs_of(tours) - cities.shift)
