"""Reference answers of the published road networks in HPCSOLVE_DATA/roads, and weights for those without."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.graph import Graph

REFERENCES = {
    "USA-road-d.NY.gr.gz": (264_346, 1_440_081, 186_686_642_878),
    "rome99.gr.gz": (3_353, 69_102, 116_006_476),
    "BAY.pace.gr.xz": (321_270, 573_453, 81_808_785_220),
    "NE.pace.gr.xz": (1_524_453, 1_137_118, 915_422_809_094),
}
"""Number of vertices reached from the first one, largest distance and sum of distances, from their README."""


def splitmix_weights(graph: Graph) -> NDArray[np.uint64]:
    """Return the README's weights for files without weights, 100 + splitmix64((smaller << 32) | larger) mod 2000."""
    tails, heads = graph.tails().astype(np.uint64), graph.heads.astype(np.uint64)
    x = np.minimum(tails, heads) << np.uint64(32) | np.maximum(tails, heads)
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (x ^ (x >> np.uint64(31))) % np.uint64(2000) + np.uint64(100)
