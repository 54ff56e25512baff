"""The memory of a run, by what is held at the same time in each of its phases.

Arrays of Python follow from their shapes. What functions of the host hold was measured (`HostFunction.most_held`).
"""

from __future__ import annotations

from dataclasses import dataclass

from hpcsolve.algorithms.edge_assembly.parameters import AREA, AREA_OF_MATRIX, Assembly, first_area
from hpcsolve.algorithms.edge_assembly.population import first_capacity
from hpcsolve.algorithms.tours.k_opt import KOpt
from hpcsolve.algorithms.tours.near import BETWEEN_CLUSTERS
from hpcsolve.algorithms.tours.one_tree import MOST_ASSIGNED, width_for
from hpcsolve.device.base import DeviceInfo
from hpcsolve.problems.distances import ON_THE_GLOBE

NEAR = 8
"""Length of the candidate lists, without the candidates between clusters."""
CITIES_AT_ONCE = 20_000
"""Cities of the first tours that a thread improves before the ranks agree on whether to go on: about 0.1 s of work."""
A_FIRST_TOUR, A_PAIR, A_PAIR_OF_PAIRED, OF_BOUND, AN_AREA, A_TOUR_OF_AREA = 20, 100, 148, 300, 182, 21
"""Bytes per node that functions of the host hold for a first tour, for a pair of tours on each thread (with symmetric
costs, and with asymmetric ones, which have more AB-cycles), for the bound, for an area, and for each of its tours."""
A_FIRST_AREA = 127
"""Bytes per node that functions of the host hold for an area of the first tour."""
OF_MULTIPLIERS = 16
"""Bytes per node of the multipliers in the order of the nodes and in that of the instance. The latter stay."""
OF_CHANGES, CHANGES_PASSED = 0.6, 3
"""Bytes per node of each tour: the edges that leave and come in a generation, and the same as ranks pass them on."""
OF_RENUMBERING = 2 * 8 * 256
"""Bytes for each city of the 256 rows of a matrix, of 8 bytes, that are renumbered at a time, and of their copy."""


@dataclass(frozen=True)
class Kind:
    """What an instance is like, whatever the number of its cities.

    Attributes
    ----------
    large
        Whether it is divided into areas.
    paired
        Whether each city is two nodes.
    matrix
        Whether costs are a matrix.
    coordinates
        Bytes of a node's coordinates.
    bound
        Whether a lower bound is computed.
    """

    large: bool
    paired: bool
    matrix: bool
    coordinates: int
    bound: bool


@dataclass(frozen=True)
class Need:
    """The most bytes of device and host memory of a rank, and of what the ranks of a host share."""

    device: int
    host: int
    shared: int


def kind_of(stated: Assembly) -> Kind:
    """Return what a statement's instance is like."""
    tsp, asked = stated.problem, stated.question
    free = not stated.closed and (asked.start is None or asked.end is None)
    matrix = not tsp.metric or free or tsp.coordinates is None
    axes = 3 if tsp.metric in ON_THE_GLOBE else 0 if tsp.coordinates is None else tsp.coordinates.shape[1]
    return Kind(stated.is_large, not tsp.symmetric, matrix, 8 * axes, stated.parameters.bound)


def blocks_at_once(info: DeviceInfo, own: int) -> int:
    """Return how many first tours are improved at a time: on a CPU one per thread, on a GPU all of this rank's."""
    return max(1, min(info.threads, own) if info.kind == "cpu" else own)


def tours_at_once(info: DeviceInfo, own: int, nodes: int) -> int:
    """Return how many first tours are made before the ranks agree on whether to go on."""
    several = max(1, CITIES_AT_ONCE // nodes) if info.kind == "cpu" else 1
    return min(max(1, own), blocks_at_once(info, own) * several)


def need_of(kind: Kind, n: int, size: int, own: int, info: DeviceInfo) -> Need:
    """Return the bytes of a rank.

    Parameters
    ----------
    n
        Number of cities.
    size, own
        Tours of the population, and those of this rank; of a large instance those of an area, and 1.
    """
    nodes = 2 * n if kind.paired else n
    costs = 4 * n * n if kind.matrix else kind.coordinates * nodes
    width = NEAR if kind.large else NEAR + BETWEEN_CLUSTERS  # whether there are clusters is not known yet
    cities, lists, cpu = costs + 8 * n, 8 * width * nodes, info.kind == "cpu" or kind.large
    blocks, at_once = blocks_at_once(info, own) if cpu else own, tours_at_once(info, own, nodes)
    scratch = sum(4 * shape[0] * shape[1] for shape, _ in KOpt.shapes(blocks, nodes).values())
    uploaded = at_once * (4 * nodes + 8)
    threads, first = info.threads, A_FIRST_TOUR * nodes * min(info.threads, at_once)
    bound, proof = (OF_BOUND * nodes, OF_MULTIPLIERS // 2 * nodes) if kind.bound else (0, 0)
    reducing = 4 * n * n if kind.paired and n <= MOST_ASSIGNED else 0  # a second matrix
    if kind.large:
        of_area = min(AREA_OF_MATRIX if kind.matrix else AREA, nodes)
        costs_of_area = 4 * (of_area // 2 if kind.paired else of_area) ** 2 if kind.matrix else 0
        inside = threads * (of_area * (AN_AREA + A_TOUR_OF_AREA * size) + costs_of_area)
        inside = max(inside, min(threads * first_area(kind.matrix, nodes), nodes) * A_FIRST_AREA)
        # place, area and number in it of each node; the areas' nodes; edges that leave and come, as keys
        working, beside, tours = 12 * nodes + inside, 8 * nodes, 8 * nodes
    else:
        pair = (A_PAIR_OF_PAIRED if kind.paired else A_PAIR) * nodes
        working = pair * min(threads, max(1, own)) + int(OF_CHANGES * nodes * own)
        tours = 4 * nodes * own
        beside = 4 * nodes * own + 12 * first_capacity(nodes, size) + CHANGES_PASSED * nodes * size
    made = 4 * nodes * at_once
    # of a bound, which has lists of its own, before or after those of the search
    bounding = 8 * width_for(n) * nodes + OF_MULTIPLIERS * nodes + reducing if kind.bound else 0
    if kind.large:
        proof = 0  # not there before the search has ended
    if not cpu:
        device = cities + lists + scratch + uploaded
        host = max(bounding + bound, lists + tours + proof + max(first + made, made, working + beside))
        return Need(device, host + 8 * own, cities + lists)
    renumbering = OF_RENUMBERING * n if kind.matrix else 0
    # Longer lists are made beside the others and copied, when near_clusters.cpp has given back more than their bytes.
    longer = 0 if kind.large else lists
    earlier = 0 if kind.large else scratch  # of earlier first tours, still held while the next ones are made
    phases = (
        (0, renumbering, 0), (0, reducing, 0), (0, bounding, bound), (0, proof + 8 * NEAR * nodes + longer, longer),
        (earlier, lists + proof + tours + made, first), (scratch + uploaded, lists + proof + tours + made, 0),
        (scratch, lists + proof + tours + beside, 0), (0, lists + proof + tours + beside, working),
    )  # of each: what the device holds, arrays of Python, and what a function of the host holds
    device = max(held + function for held, _, function in phases)
    whole = cities + max(held + arrays + function for held, arrays, function in phases)
    return Need(device, max(0, whole - device - cities - lists), cities + lists)
