"""Lists of near nodes, which run on the CPU, whatever the device: of points, some of them equal, and of matrices."""

from __future__ import annotations

import numpy as np

from hpcsolve.algorithms.tours.cities import FORBIDDEN, kernel_cities
from hpcsolve.algorithms.tours.near import near_lists
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.problems.tsp import from_matrix, from_points


def near_nodes(device: Device) -> None:
    """Check the costs of lists that several threads make, and their lengths."""
    host = device if isinstance(device, HostDevice) else HostDevice(2)
    rng = np.random.default_rng(5)
    costs = rng.integers(0, 50, (40, 40))
    places = rng.integers(0, 30, (2100, 3)).astype(float)  # more than one thread takes at a time
    instances = [from_matrix(costs), from_matrix(costs + costs.T)]
    instances += [from_points(places[:, :axes], metric, "some", np.arange(2100))
                  for metric, axes in (("EUC_2D", 2), ("GREAT_CIRCLE", 2), ("XRAY1", 3))]
    for tsp in instances:
        cities = kernel_cities(tsp, [(1, 2), (2, 5), (7, 9)])
        lists = near_lists(host, cities, 8, 2)
        assert (np.diff(lists.cost, axis=1) >= 0).all() and lists.cost.max() < FORBIDDEN
        if not cities.paired:
            listed = tsp.between(cities.order[:, None], cities.order[lists.near])
            assert (listed == lists.cost).all()
