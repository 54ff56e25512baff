"""Candidate lists: of each node the nearest nodes, which local search and crossovers try.

cuda_src/host/near_cities.cpp finds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.tours.cities import Cities
from hpcsolve.device.host import HostDevice

NEAR_FILE, CLUSTERS_FILE = "host/near_cities", "host/near_clusters"
BETWEEN_CLUSTERS = 4
"""Candidates that are added to each list where there are clusters."""
CLUSTERED = 20
"""An instance has clusters if one node in so many is in one that stands apart."""


@dataclass(frozen=True, eq=False)
class NearLists:
    """The nearest nodes of each node.

    Attributes
    ----------
    near
        Shape (nodes, width), uint32: in each row the nodes by (cost, number). Where there are fewer, the node itself
        fills the rest.
    cost
        Shape (nodes, width), int32: the costs of the edges to them, `cities.FORBIDDEN` of an edge to the node itself.
    """

    near: NDArray[np.uint32]
    cost: NDArray[np.int32]

    @property
    def width(self) -> int:
        """Length of the lists."""
        return int(self.near.shape[1])

    def arguments(self) -> dict[str, Any]:
        """Return the fields of the struct `near_lists`."""
        return {"width": self.width, "near": self.near, "cost": self.cost}


def near_lists(host: HostDevice, cities: Cities, width: int, a_quadrant: int) -> NearLists:
    """Return the nearest nodes of each node.

    Parameters
    ----------
    host
        The CPU cores that find them.
    width
        Length of the lists, at most. With fewer nodes they are as long as their number allows.
    a_quadrant
        So many of each quadrant come before all others, at most a quarter of the width. A matrix has no quadrants.
    """
    width = min(width, cities.most_near)
    near, cost = np.empty((cities.nodes, width), np.uint32), np.empty((cities.nodes, width), np.int32)
    host.call(NEAR_FILE, "near_cities_list", where=cities.arguments(), width=width,
              a_quadrant=min(a_quadrant, width // 4), threads=host.threads, near=near, cost=cost)
    return NearLists(near, cost)


def with_clusters(host: HostDevice, cities: Cities, lists: NearLists) -> NearLists:
    """Return lists with candidates between clusters as well, or these lists if the instance has no clusters.

    See cuda_src/host/near_clusters.cpp.
    """
    width, least = lists.width + BETWEEN_CLUSTERS, -(-cities.nodes // CLUSTERED)
    found = host.call(CLUSTERS_FILE, "near_clusters_list", where=cities.arguments(), near=lists.arguments(),
                      extra=BETWEEN_CLUSTERS, least_apart=least, threads=host.threads)
    near, cost = (found[name].reshape(-1, width) for name in ("wider", "cost"))
    return NearLists(near, cost) if len(near) else lists
