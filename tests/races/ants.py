"""The kernels of the ant colonies on tiny inputs; see program.py."""

from __future__ import annotations

import numpy as np

from hpcsolve.algorithms import ant_colony
from hpcsolve.algorithms.ant_colony.layout import lay_out
from hpcsolve.algorithms.ant_colony.local_search import KINDS
from hpcsolve.algorithms.ant_colony.search import open_search, powers
from hpcsolve.algorithms.base import StopCriteria, silent
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.tsp import Tsp


def ant_colonies(device: HostDevice, tsp: Tsp, directed: Tsp) -> None:
    """Every way to build tours and to learn; the groups' tours are the same, whatever the launches."""

    def run(on: Tsp, **parameters: object) -> int | None:
        chosen = ant_colony.Parameters(ants=3, colonies=2, **parameters)  # type: ignore[arg-type]
        return ant_colony.run(on, device, SerialComm(), chosen, silent, StopCriteria(iterations=3)).cost

    run(tsp, variant="ant-system", migration=2)
    run(directed, variant="ant-system")
    groups = [run(tsp, variant="ant-system", strategy=name, block_threads=64, tiled=tiled)
              for name in ("st-group", "st-dynamic") for tiled in (True, False)]  # fmt: skip
    assert len(set(groups)) == 1
    for kind in ("none", *KINDS):
        run(directed if kind == "insertion" else tsp, local_search=kind)


def ant_samplers(device: HostDevice, tsp: Tsp) -> None:
    """One step of each sampler from city 3, from the 21st city on all open: only these are chosen."""
    n, layout, keys = tsp.n, lay_out(tsp), np.array([[1, 2]], np.uint32)
    rest = np.arange(21, n)
    words = [sum(1 << j % 32 for j in rest if j // 32 == word) for word in range(-(-n // 32))]
    bits = device.upload(np.array(words, np.uint32))
    chosen, order = device.empty(9, np.uint16), device.upload(np.arange(n, dtype=np.uint16))
    for variant in ("ant-system", "mmas"):
        parameters = ant_colony.Parameters(variant=variant, strategy="st-group", ants=2)
        search = open_search(device, layout, parameters, powers(layout, parameters), keys)
        own = search.buffers
        if variant == "mmas":
            kernel = device.kernel("ants/ant_candidates", "ant_candidates_sample")
            tables = [own[name] for name in ("nearest", "sums", "weights", "cost")]
            kernel(2, 32, n, own["nearest"].shape[1], 3, 9, 7, bits, *tables, chosen)
        else:
            stride = own["heuristic"].shape[1]
            kernel = device.kernel("ants/ant_head_tail", "ant_head_tail_sample")
            tables = [own[name] for name in ("rows", "head", "tail", "tail_prefix", "trail", "heuristic")]
            kernel(2, 32, n, stride, 3, 9, 7, bits, *tables, chosen)
            assert np.isin(chosen.download(), rest).all()
            kernel = device.kernel("ants/ant_group", "ant_group_sample")
            tables = [bits, order, own["trail"], own["whole_heuristic"]]
            kernel(2, 64, n, stride, 3, len(rest), 9, 1, 1, 7, *tables, chosen)
        assert np.isin(chosen.download(), rest).all()
        search.close()
