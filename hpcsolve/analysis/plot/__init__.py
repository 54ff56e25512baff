"""Pictures of results, drawn with matplotlib (extra `plot`). Each function takes a `Result` and returns the axes.

tour.py       a tour, and the costs of a batch's tours
schedule.py   the stops of a tour with time windows
prizes.py     what each sum of prizes costs
tree.py       a Steiner tree over its network
distances.py  shortest paths, distances and their reductions
run.py        how an answer came about, and where the time of the run went
maps.py       what maps share: places, scale bar, network, names
canvas.py     what all pictures share: what a result must have, axes, texts, colours, SVG
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hpcsolve.analysis.plot.canvas import kind_of_answer
from hpcsolve.analysis.plot.distances import (
    MOST_LINES,
    plot_distances,
    plot_histogram,
    plot_path,
    plot_reductions,
    plot_voronoi,
)
from hpcsolve.analysis.plot.prizes import plot_prizes
from hpcsolve.analysis.plot.run import plot_colonies, plot_convergence, plot_layers, plot_ranks
from hpcsolve.analysis.plot.schedule import plot_schedule
from hpcsolve.analysis.plot.tour import plot_batch, plot_tour
from hpcsolve.analysis.plot.tree import plot_tree
from hpcsolve.errors import InputError
from hpcsolve.wording import did_you_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result

__all__ = [
    "plot", "plot_batch", "plot_colonies", "plot_convergence", "plot_distances", "plot_histogram", "plot_layers",
    "plot_path", "plot_prizes", "plot_ranks", "plot_reductions", "plot_schedule", "plot_tour", "plot_tree",
    "plot_voronoi",
]


def plot(result: Result, axes: Axes | None = None, **options: Any) -> Axes:
    """Draw the answer of a result, whatever its kind. `Result.plot` calls this.

    Parameters
    ----------
    axes
        Where to draw; by default a new figure of pyplot.
    options
        Passed on to the function that draws this kind of answer: `plot_tour`, `plot_tree`, `plot_path`,
        `plot_batch`, `plot_reductions`, `plot_voronoi`, `plot_distances`, or `plot_histogram` for distances to targets,
        and for more than eight searches among vertices without coordinates.

    Raises
    ------
    InputError
        The result has no answer, or the function that draws it has no such option.
    EnvironmentFault
        matplotlib is not installed.
    """
    draw = _function_of(result)
    known = list(inspect.signature(draw).parameters)[2:]
    for name in options:
        if name not in known:
            hint = did_you_mean(name, known, f"; its options are {', '.join(known)}" if known else "")
            raise InputError(f"{draw.__name__}, which draws this result, has no option {name!r}{hint}; leave it out")
    return draw(result, axes, **options)


def _function_of(result: Result) -> Callable[..., Axes]:
    """Return the function that draws a result."""
    kind = kind_of_answer(result)
    if kind == "distances":
        targets, searches = result.contents.value("solution", "target"), len(result.distance)
        if result.contents.value("solution", "nearest") is not None and result.coordinates is not None:
            return plot_voronoi
        table = targets is not None or (searches > MOST_LINES and result.coordinates is None)
        return plot_histogram if table else plot_distances
    functions: dict[str, Callable[..., Axes]] = {"tour": plot_tour, "tree": plot_tree, "paths": plot_path,
                                               "reductions": plot_reductions, "tours of a batch": plot_batch}
    return functions[kind]
