"""Draws the pictures of two pages: `python docs/pictures.py docs` writes those of ten-minutes.md and of gallery.md.

Those of ten-minutes.md are drawn from examples that are solved anew in Python, those of gallery.md from the results of
the commands on the page. The same results give the same files, byte for byte, with one version of matplotlib. Texts
stay texts.
"""

from __future__ import annotations

import io
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib
import networkx
import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import hpcsolve

JOBS = Path(__file__).resolve().parent.parent / "jobs"
GALLERY = Path(__file__).resolve().with_name("gallery.md")
LESS = {"shortest-trenches": {"network": False}, "district-heating": {"names": False}}
"""What is left out of pictures of the gallery whose files would be large."""
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


def solved(folder: Path) -> list[Path]:
    """Run the commands of the gallery in a folder and return their result files, each named like its picture."""
    shutil.copytree(JOBS, folder / "jobs")
    page = GALLERY.read_text(encoding="utf-8")
    for line in re.findall(r"^hpcsolve (.*)$", page, re.M):
        subprocess.run([sys.executable, "-m", "hpcsolve", *shlex.split(line), "--quiet"], cwd=folder, check=True)
    return [folder / "results" / f"{name}.h5" for name in re.findall(r"\(gallery/(.*)\.svg\)", page)]


def main(docs: Path) -> None:
    """Write the pictures into the folders of both pages."""
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "hpcsolve", "font.family": "sans-serif"})
    for draw in (places, walk, ways, cable):
        figure = Figure(figsize=(6.4, 4.8), layout="constrained")
        draw(figure.add_subplot())
        figure.savefig(docs / "ten-minutes" / f"{draw.__name__}.svg", metadata={"Date": None})
    with tempfile.TemporaryDirectory() as folder:
        for path in solved(Path(folder)):
            figure, content = Figure(figsize=(4.8, 3.6), layout="constrained"), io.StringIO()
            hpcsolve.load(path).plot(figure.add_subplot(), **LESS.get(path.stem, {}))
            figure.savefig(content, format="svg", dpi=60, metadata={"Date": None})
            short = re.sub(r"(\d\.\d\d)\d+", r"\1", content.getvalue())  # a hundredth of a point is enough
            (docs / "gallery" / f"{path.stem}.svg").write_text(short, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
