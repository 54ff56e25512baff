"""Draws docs/picture.svg: `python docs/picture.py TOUR.h5 TREE.h5 PICTURE.svg`, the results of two jobs of jobs/.

The files are those of jobs/eu-capitals.toml and jobs/district-heating.toml; `make docs` makes them. The picture's texts
stay texts, so a test can compare the numbers in it with those of a run.
"""

from __future__ import annotations

import sys

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import hpcsolve
from hpcsolve.analysis.plot import plot_tour, plot_tree

LABELLED = {"Lisbon", "Dublin", "Helsinki", "Nicosia", "Valletta", "Paris", "Rome", "Berlin", "Bucharest", "Stockholm"}


def draw(tour_file: str, tree_file: str, picture: str) -> None:
    """Draw a tour beside a Steiner tree."""
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    tour, tree = hpcsolve.load(tour_file), hpcsolve.load(tree_file)
    plot_tour(tour, left, names=False, geographic=True).legend([]).remove()  # the title has its place
    name_cities(left, tour)
    left.set_title(f"The shortest round trip through {len(tour.tour)} capitals: {tour.cost} km, proven")
    plot_tree(tree, right, names=False)
    ratio = tree.cost / tree.lower_bound
    right.set_title(f"{len(tree.terminals)} houses joined: {tree.cost}, at most {ratio:.3f} times the optimum")
    for axes in (left, right):
        axes.set_axis_off()
        axes.title.set_fontsize(10)
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "hpcsolve", "font.family": "sans-serif"})
    figure.savefig(picture, metadata={"Date": None})


def name_cities(axes: Axes, tour: hpcsolve.Result) -> None:
    """Write the names of some cities beside their points."""
    order = dict(zip(tour.tour_labels, axes.lines[0].get_xydata()))
    for name in sorted(LABELLED & order.keys()):
        axes.annotate(name, order[name], xytext=(4, 3), textcoords="offset points", fontsize=8)


if __name__ == "__main__":
    draw(*sys.argv[1:])
