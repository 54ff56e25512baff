"""Draws the pictures of docs/ten-minutes.md: `python docs/ten_minutes.py FOLDER` solves the examples of jobs/ anew.

The same results give the same files, byte for byte, with one version of matplotlib. Texts stay texts.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import networkx
import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import hpcsolve

JOBS = Path(__file__).resolve().parent.parent / "jobs"
JOINED = [203, 213, 297, 305, 401, 413]


def places(axes: Axes) -> None:
    """Draw the round trip through the places of a CSV file."""
    hpcsolve.solve(JOBS / "places.csv", device="cpu").plot(axes)


def walk(axes: Axes) -> None:
    """Draw the walk through the places of a DataFrame of costs."""
    minutes = pandas.read_csv(JOBS / "old-town.csv", index_col=0).fillna(np.inf)
    hpcsolve.solve(minutes, path="open", start="Station", device="cpu").plot(axes)


def ways(axes: Axes) -> None:
    """Draw shortest paths in a graph of networkx."""
    streets = networkx.read_graphml(JOBS / "streets.graphml", node_type=int, force_multigraph=True)
    queries = [[201, 415], [415, 201]]
    found = hpcsolve.solve(streets, "shortest-paths", queries=queries, weight="length", device="cpu")
    found.plot(axes, network=streets)


def cable(axes: Axes) -> None:
    """Draw a Steiner tree in the graph of a GraphML file."""
    streets = networkx.read_graphml(JOBS / "streets.graphml", node_type=int, force_multigraph=True).to_undirected()
    streets.name = "streets"
    found = hpcsolve.solve(streets, "steiner-kmb", terminals=JOINED, weight="length", exchange=True, device="cpu")
    found.plot(axes, network=streets)


def main(folder: Path) -> None:
    """Write the pictures into a folder."""
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "hpcsolve", "font.family": "sans-serif"})
    for draw in (places, walk, ways, cable):
        figure = Figure(figsize=(6.4, 4.8), layout="constrained")
        draw(figure.add_subplot())
        figure.savefig(folder / f"{draw.__name__}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
