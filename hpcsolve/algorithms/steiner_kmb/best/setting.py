"""What modes best and exact work with on each rank."""

from __future__ import annotations

from dataclasses import dataclass

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.steiner_kmb.best.rounds import RoundStop
from hpcsolve.algorithms.steiner_kmb.network import Network
from hpcsolve.algorithms.steiner_kmb.parameters import Parameters
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import Comm


@dataclass(frozen=True)
class Setting:
    """What a run works with on each rank.

    Attributes
    ----------
    whole
        The network of the graph as it was read.
    host
        The CPU, which is also `device` if the job has no GPU.
    """

    whole: Network
    host: HostDevice
    device: Device
    comm: Comm
    parameters: Parameters
    report: Report
    stop: RoundStop
    seed: int
