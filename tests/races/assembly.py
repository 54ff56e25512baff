"""Edge assembly, which runs on the CPU, whatever the device: pairs and areas that several threads share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.edge_assembly.first_tours import FirstTours, with_reduced_costs
from hpcsolve.algorithms.tours.cities import kernel_cities
from hpcsolve.algorithms.tours.k_opt import Rules
from hpcsolve.algorithms.tours.near import near_lists, with_clusters
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.problems.tsp import from_matrix, from_points

ASSEMBLY, AREAS = "host/edge_assembly", "host/areas"


def edge_assembly(device: Device) -> None:
    """Check that tours stay tours, of points in clusters and of asymmetric costs."""
    host = device if isinstance(device, HostDevice) else HostDevice(2)
    rng = np.random.default_rng(5)
    places = rng.integers(0, 4, (300, 2)) * 1000.0 + rng.integers(0, 30, (300, 2))
    for tsp in (from_points(places, "EUC_2D", "some", np.arange(300)), from_matrix(rng.integers(0, 99, (60, 60)))):
        cities = with_reduced_costs(host, kernel_cities(tsp, [(1, 2)]))
        lists = with_clusters(host, cities, near_lists(host, cities, 6, 1))
        instance = {"where": cities.arguments(), "near": lists.arguments()}
        first = FirstTours(host, cities, lists, 1, host, 1)
        tours = first.by_boruvka([0, 1]) if cities.assigned is None else first.patched([0, 1])
        tours = np.concatenate([tours, first.by_boruvka([2, 3])])
        before = cities.costs_of(tours)
        assert (_generations(host, instance, tours) == cities.costs_of(tours) - before).all()
        _areas(host, instance, tours[0])
        assert sorted(tours[0].tolist()) == list(range(cities.nodes))


def _entropy(population: int) -> NDArray[np.int64]:
    return np.array([round(-(2**20) * k / population * math.log(max(k, 1) / population))
                     for k in range(population + 1)], np.int64)


def _generations(host: HostDevice, instance: dict[str, Any], tours: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Improve tours by single AB-cycles, then by sets of them. Returns by how much they have become longer."""
    count, n = tours.shape
    edges = {"capacity": 4096, "keys": np.full(4096, 2**64 - 1, np.uint64), "counts": np.zeros(4096, np.int32)}
    lengths, taken = np.zeros(count, np.int64), np.zeros(count, np.uint32)
    used, refused = np.zeros(1, np.uint64), np.zeros(1, np.uint32)
    keys = host.call(ASSEMBLY, "edge_assembly_keys", n=n, count=count, tours=tours)["found"]
    changes = [(keys, 1)]
    for stage in (0, 1):
        for changed, by in changes:
            host.call(ASSEMBLY, "edge_assembly_count", edges=edges, count=len(changed), changed=changed, by=by,
                      used=used, refused=refused)
        rules = {"population": count, "stage": stage, "children": 30, "taken": 3, "least_percent": 30, "threads": 2}
        found = host.call(
            ASSEMBLY, "edge_assembly_generation", **instance, rules=rules, edges=edges, entropy=_entropy(count),
            count=count, tours=tours, partners=tours.copy(), partner_of=np.array([1, 2, 3, 0], np.uint32),
            streams=np.arange(count, dtype=np.uint64), lengths=lengths, taken=taken)
        changes = [(found["removed"], -1), (found["added"], 1)]
    found = host.call(ASSEMBLY, "edge_assembly_cycles", n=n, a=tours[0], b=tours[1], stream=1)
    assert found["starts"][-1] == len(found["cycles"])
    return lengths


def _areas(host: HostDevice, instance: dict[str, Any], tour: NDArray[np.uint32]) -> None:
    """Improve a tour in areas, at the same time."""
    members = np.empty(len(tour), np.uint32)
    starts = host.call(AREAS, "edge_assembly_areas", where=instance["where"], tour=tour, most=60, stream=3,
                       members=members)["starts"]
    areas = len(starts) - 1
    rules = {"population": 3, "children": 30, "taken": 3, "least_percent": 30, "idle": 5, "threads": 2,
             **Rules().arguments()}
    found = host.call(AREAS, "edge_assembly_improve_areas", **instance, rules=rules, entropy=_entropy(3), tour=tour,
                      areas=areas, starts=starts, members=members, streams=np.arange(areas, dtype=np.uint64),
                      gains=np.zeros(areas, np.int64))
    host.call(AREAS, "edge_assembly_join", **instance, tour=tour, count=len(found["removed"]),
              removed=found["removed"], added=found["added"], change=np.zeros(1, np.int64),
              parts=np.zeros(1, np.uint32))
