"""The searches of mode kmb from all terminals, by the engine "tile" and by a hierarchy: CPU seconds, the same pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines import row_search, searcher
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import Refusal, build_hierarchy
from hpcsolve.algorithms.shortest_paths.search_graph import lay_out
from hpcsolve.algorithms.steiner_kmb.kmb import spanned_rows
from hpcsolve.algorithms.steiner_kmb.network import network, prepared
from hpcsolve.algorithms.steiner_kmb.setting import Parameters
from hpcsolve.algorithms.steiner_kmb.study import cutoff_of
from hpcsolve.algorithms.steiner_kmb.terminal_rows import chosen_rows, keys_for, walk
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.answers import require_equal
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import best_cpu_seconds
from jobs.benchmarks.steiner.instances import Instance

INSTANCES = ["G103", "I083", "es10000fst01", "alue7080", "lin37"]
ENGINES = ("tile", "phast")
HALTS = ("bottleneck", "terminals")


@dataclass(frozen=True)
class Row:
    """CPU seconds by engine, of "phast" with its hierarchy or None if none can be made, and what "auto" chooses."""

    name: str
    terminals: int
    halt: str
    seconds: dict[str, float | None]
    chosen: str


def measure(instance: Instance, halt: str, repeats: int) -> Row:
    """Time the searches by each engine, and check that they find the same pairs."""
    parameters = Parameters(mode="kmb", halt=halt)  # type: ignore[arg-type]
    with HostDevice(1) as host:
        smaller, tree = prepared(instance.graph, host)
        graph, net = smaller.graph, network(smaller.graph, host)
        cutoff = cutoff_of(tree, parameters)
        keys, sources, k = keys_for(graph, cutoff), walk(net, tree), len(net.terminals)
        laid_out = lay_out(graph, keys)
        found: dict[str, NDArray[np.int64]] = {}

        def search(engine: str) -> None:
            given = build_hierarchy(laid_out, keys, False, 1) if engine == "phast" else None
            if isinstance(given, Refusal):
                return
            with searcher(graph, host, keys, cutoff=cutoff, search_graph=laid_out, searches=k) as ready:
                targets = net.terminals.astype(np.int64)
                with row_search(ready, graph, engine, 1, targets, k, given) as rows:
                    pairs, _ = spanned_rows(net, sources, tree.bottleneck, rows)
            found[engine] = np.stack([pairs.first, pairs.second, pairs.distance.astype(np.int64)])

        seconds = best_cpu_seconds({engine: partial(search, engine) for engine in ENGINES}, repeats)
        require_equal(instance.name, all(np.array_equal(each, found["tile"]) for each in found.values()))
        chosen = chosen_rows(graph, keys, parameters, host, SerialComm())[0]
    return Row(instance.name, k, halt, {name: seconds[name] if name in found else None for name in ENGINES}, chosen)


def table(rows: Sequence[Row]) -> list[str]:
    """Return the rows in Markdown."""
    head = ["instance", "terminals", "searches end at", "tile, s", "phast, s", "phast / tile", "auto chooses"]
    lines = []
    for row in rows:
        tile, phast = row.seconds["tile"], row.seconds["phast"]
        assert tile is not None
        cells = ["no small separators", ""] if phast is None else [f"{phast:.2f}", f"{phast / tile:.2f}"]
        lines.append([row.name, str(row.terminals), row.halt, f"{tile:.2f}", *cells, row.chosen])
    return markdown(head, lines)
