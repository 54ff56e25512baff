"""PACE: graphs without weights (`p tw n m`), and the Steiner trees of 2018, whose sections are SteinLib's.

Sources: PACE challenge 2016 (track A, `.gr`) and 2018 (Steiner tree). A `p tw` file lists edges `u v`, ids from 1,
comments behind c. A tree decomposition after the terminals (track B of 2018) is skipped.
"""

from __future__ import annotations

import numpy as np

from hpcsolve.formats.base import Source
from hpcsolve.formats.dimacs import header_of
from hpcsolve.formats.lines import positions_in, read_records, require_count, require_plausible
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import assembled


def read_pace(source: Source) -> Graph:
    """Read an undirected graph of weight 1 an edge.

    Raises
    ------
    InputError
        With file and line.
    """
    records = read_records(source, source.content, 1, ("a vertex", "a vertex"))
    header = header_of(source, records, ["tw"], 2, "`p tw VERTICES EDGES`", "two vertices")
    n, count = header.numbers
    require_plausible(source, n, header.line)
    require_count(source, count, len(records.lines), "edges", header.line)
    tails, heads = (positions_in(source, column, records.lines, n) for column in records.columns)
    weights = np.ones(len(tails), dtype=np.uint32)
    labels = np.arange(1, n + 1)
    return assembled(source.stem or "graph", n, tails, heads, weights, directed=False, labels=labels,
                     comment=header.comment)  # fmt: skip
