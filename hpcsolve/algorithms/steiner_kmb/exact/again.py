"""The second search of `hpcsolve verify --again`, with other roots and rules than the first one."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from hpcsolve.algorithms.base import NO_STOP, silent
from hpcsolve.algorithms.steiner_kmb.best.rounds import RoundStop
from hpcsolve.algorithms.steiner_kmb.best.setting import Setting
from hpcsolve.algorithms.steiner_kmb.exact.search import Strategy, searched
from hpcsolve.algorithms.steiner_kmb.network import network
from hpcsolve.algorithms.steiner_kmb.parameters import Parameters
from hpcsolve.algorithms.steiner_kmb.reductions.shrink import ALL_RULES
from hpcsolve.algorithms.steiner_kmb.reductions.simple import reduced
from hpcsolve.answers.base import Verdict
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.graph import Graph

if TYPE_CHECKING:
    from hpcsolve.answers.contents import Contents

OTHER_SEED = 1_000
"""The seed of the second search, for its shakes and its ruin and recreate."""


def search_again(graph: Graph, parameters: Parameters, contents: Contents) -> Verdict:
    """Return the verdict of a second search on a tree that a result claims to be lightest.

    It takes other roots for the dual ascents, and leaves out the reductions at terminals and by the special distance.
    """
    if not contents.value("solution", "optimal"):
        return Verdict(None, "no second search was made, since the result does not claim that its tree is the lightest")
    cost, comm = int(contents.value("solution", "cost")), SerialComm()
    strategy = Strategy(replace(ALL_RULES, terminals=False, special=False), len(graph.terminals) // 2)  # type: ignore[arg-type]
    with HostDevice(len(os.sched_getaffinity(0))) as host:
        exact = msgspec.structs.replace(parameters, mode="exact")
        stop = RoundStop(comm, NO_STOP, None)
        setting = Setting(network(graph, host), host, host, comm, exact, silent, stop, OTHER_SEED)
        search = searched(reduced(graph), 0, None, setting, strategy)
    found = search.found
    if found.weight < cost:
        return Verdict(False, f"a second search found a tree that weighs {found.weight}, less than {cost}")
    if not found.proven:
        return Verdict(None, f"a second search ended before it was complete: {search.ended}")
    if found.weight > cost:
        return Verdict(False, f"a second search proved that the lightest tree weighs {found.weight}, not {cost}")
    return Verdict(True, "a second search with other roots and without two of the reductions found no lighter tree")
