"""What maps share: where cities and vertices are drawn, axis labels, scale bar, the network in grey, and names.

Coordinates are those of a plane or of the earth. Edges are drawn as one line with gaps, since thousands of lines would
take minutes. The network is the graph that was solved, read or generated again, since the result file keeps no edges.
Names stand beside points, so that no name lies on another one or on a point. Names without room are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.plot.canvas import GREY, RASTER_FROM, clean
from hpcsolve.errors import HpcsolveError, InputError
from hpcsolve.job import IN_MEMORY, job_from_table
from hpcsolve.problems.distances import EARTH_RADIUS
from hpcsolve.problems.geographic import DEGREES_MINUTES
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.libraries import from_networkx, from_scipy
from hpcsolve.runner.kinds import kind_of
from hpcsolve.runner.reading import read_instance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result

Points = NDArray[np.float64]
KILOMETRES_PER_DEGREE = EARTH_RADIUS / 1000 * math.pi / 180
"""Of latitude."""
BAR = 0.25
"""Largest fraction of the picture's width that the scale bar takes."""
MARGINS = (0.1, 0.06)
"""Room on each side of a map, in x and in y, as fractions of its size: names are wider than high."""
LARGEST_NETWORK = 2_000_000
"""Largest number of vertices of a network that is read for a picture."""
MOST_NAMES = 300
"""The most names that are tried, since a picture has no room for more."""
GAP = 4.0
"""Distance of a name from its point, in points (1/72 inch)."""
RADIUS = 2.5
"""Radius of a mark, in points, that names keep clear of."""
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
"""Where a name may stand beside its point: right, left, above, below, then the corners."""


@dataclass(frozen=True)
class Places:
    """Where cities or vertices are drawn.

    Attributes
    ----------
    points
        Shape (n, 2): x and y, or longitude and latitude in degrees. NaN for a vertex that is not drawn.
    geographic
        Whether they are longitudes and latitudes.
    note
        What a reader of the picture must know where the points are no coordinates of the instance, else "".
    """

    points: Points
    geographic: bool = False
    note: str = ""

    def longitude_over_latitude(self) -> float:
        """Return the length of a degree of longitude over one of latitude, at the middle latitude of the picture."""
        latitudes = self.points[:, 1]
        return max(0.1, math.cos(math.radians((np.nanmin(latitudes) + np.nanmax(latitudes)) / 2)))


def places_of(result: Result, geographic: bool | None = None) -> Places | None:
    """Return the places of all cities or vertices, or None if they have no coordinates.

    Parameters
    ----------
    geographic
        Whether coordinates are latitude and longitude; by default what the result file says. In an old file, which does
        not say it, they are taken for those of TSPLIB's GEO if this is true.
    """
    stored = str(result.contents.value("instance", "coordinates_kind", ""))
    kind = stored if geographic is None else (stored or DEGREES_MINUTES) if geographic else ""
    found = result.contents.coordinates(kind)
    axes = ("lon", "lat") if kind else ("x", "y")
    return Places(np.stack([found[axis] for axis in axes], axis=1), bool(kind)) if found else None


def on_a_ring(result: Result, sequence: NDArray[np.int64]) -> Places:
    """Return places on a circle, for cities without coordinates, in the order of the sequence."""
    angle = math.pi / 2 - np.linspace(0, 2 * np.pi, len(sequence), endpoint=False)
    points = np.full((result.n, 2), np.nan)
    points[sequence] = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return Places(points, note="without coordinates: on a circle, in the order of the tour")


def finish_map(axes: Axes, places: Places, ink: str | None = None) -> None:
    """Label the axes, set the aspect, and draw a scale bar where the points are coordinates.

    Parameters
    ----------
    ink
        Colour of the scale bar; by default that of the axes.
    """
    if np.isfinite(axes.dataLim.extents).all():  # something is drawn
        # The margins count as data, since matplotlib may use margins up for the aspect.
        room = np.array(MARGINS) * axes.dataLim.size
        axes.update_datalim([axes.dataLim.min - room, axes.dataLim.max + room])
        axes.margins(0)
    # The drawn length of a unit of y over that of a unit of x is above 1 for latitude over longitude.
    axes.set_aspect(1 / places.longitude_over_latitude() if places.geographic else 1.0, adjustable="datalim")
    if places.note:
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_frame_on(False)
        axes.set_xlabel(places.note, fontsize="small")
        return
    x, y = ("longitude (°)", "latitude (°)") if places.geographic else ("x (unit of the coordinates)", "y")
    axes.set_xlabel(x, fontsize="small")
    axes.set_ylabel(y, fontsize="small")
    axes.tick_params(labelsize="small")
    _draw_scale_bar(axes, places, ink)


def add_note(axes: Axes, note: str) -> None:
    """Add a line below the picture."""
    axes.set_xlabel(f"{axes.get_xlabel()}\n{note}".strip("\n"), fontsize="small")


def _draw_scale_bar(axes: Axes, places: Places, ink: str | None) -> None:
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties
    from mpl_toolkits.axes_grid1.anchored_artists import AnchoredSizeBar

    axes.apply_aspect()  # the limits are final only now
    low, high = axes.get_xlim()
    unit = KILOMETRES_PER_DEGREE * places.longitude_over_latitude() if places.geographic else 1.0
    length = round_length((high - low) * unit * BAR)
    if not length > 0:
        return
    text, name = f"{length:.15g}" if length < 1e6 else f"{length:g}", " km" if places.geographic else ""
    corner = emptiest_corner(axes.transAxes.inverted().transform(axes.transData.transform(places.points)))
    bar = AnchoredSizeBar(
        axes.transData, length / unit, text + name, corner, frameon=False, sep=3, pad=0.3,
        color=ink or rcParams["axes.edgecolor"], fontproperties=FontProperties(size="small"),
    )
    bar.set_gid("scale-bar")
    axes.add_artist(bar)


def round_length(longest: float) -> float:
    """Return the largest 1, 2 or 5 times a power of ten that is not longer, or 0."""
    if not (math.isfinite(longest) and longest > 0):
        return 0.0
    power = math.floor(math.log10(longest))
    return max(leading * 10.0**power for leading in (1, 2, 5) if leading == 1 or leading * 10.0**power <= longest)


def emptiest_corner(points: Points) -> str:
    """Return the corner with the fewest points.

    Parameters
    ----------
    points
        Shape (n, 2), in fractions of the axes' width and height.
    """
    corners: dict[str, tuple[Any, Any]] = {
        "lower right": (1, 0), "lower left": (0, 0), "upper right": (1, 1), "upper left": (0, 1),
    }
    counts = {name: int((np.abs(points - corner) < (0.32, 0.14)).all(axis=1).sum()) for name, corner in corners.items()}
    return min(counts, key=lambda name: counts[name])


def line_of_edges(points: Points, u: NDArray[Any], v: NDArray[Any]) -> Points:
    """Return the edges from u to v as one line, shape (3 * edges, 2), with NaN after each edge."""
    gap = np.full((len(u), 2), np.nan)
    return np.stack([points[u], points[v], gap], axis=1).reshape(-1, 2)


def draw_network(axes: Axes, result: Result, points: Points, network: object) -> None:
    """Draw the edges of the result's graph in grey, below all else, if the graph can be had.

    Parameters
    ----------
    points
        Shape (vertices, 2).
    network
        True to read or generate the instance again, False to draw nothing, or the graph as `hpcsolve.solve` takes it.

    Raises
    ------
    InputError
        What was given is no graph, or has another number of vertices.
    """
    if network is False:
        return
    graph: Any = network_of(result) if network is True else network
    if network is True and graph is None:
        return
    if not isinstance(graph, Graph):  # as a program gave it, with any weights
        graph = from_networkx(graph, None) if hasattr(graph, "is_directed") else from_scipy(graph)
    if graph.n != len(points):
        raise InputError(f"the network has {graph.n} vertices, but the result {len(points)}")
    tails = graph.tails()
    once = slice(None) if graph.directed else tails < graph.heads
    line = line_of_edges(points, tails[once], graph.heads[once])
    edges = len(line) // 3
    width = float(np.clip(60 / np.sqrt(max(edges, 1)), 0.15, 0.8))
    look: dict[str, Any] = {"color": GREY, "linewidth": width, "alpha": 0.5, "zorder": 0, "gid": "network"}
    axes.plot(*line.T, "-", rasterized=edges > RASTER_FROM, **look)


def network_of(result: Result) -> Graph | None:
    """Return the graph that was solved, or None if it cannot be read or generated again.

    It is read from its file or generated again, as the result's job says, and must have the SHA-256 of the instance
    that was solved. So it is None if the instance was in a program's memory, if its file is gone or has changed, and if
    it has more than two million vertices.
    """
    if result.contents.value("instance", "vertices", 0) > LARGEST_NETWORK:
        return None
    try:
        job = job_from_table(msgspec.toml.decode(result.job))
        found: Any = None if job.settings.instance in ("-", IN_MEMORY) else read_instance(job)
    except HpcsolveError:
        return None
    solved = result.contents.value("instance", "content_sha256")
    same = found is not None and kind_of(job).content_hash(found.problem) == solved
    return found.problem if same and isinstance(found.problem, Graph) else None


def with_names(names: bool | None, count: int, most: int) -> bool:
    """Return whether to write names: what the caller says, or by default whether there are at most `most`."""
    return count <= most if names is None else names


def write_names(axes: Axes, points: Points, names: Sequence[Any], marks: Points, lines: Points) -> None:
    """Write names beside points, as many as have room, with a note below the picture if some have none.

    Call this last, since it depends on the limits of the axes.

    Parameters
    ----------
    points
        Shape (names, 2), in the coordinates of the axes.
    names
        The first ones have precedence.
    marks
        Shape (marks, 2): points that no name may cover.
    lines
        Shape (vertices, 2): a polyline that names avoid where they can, NaN where it has gaps.
    """
    from matplotlib.text import Text

    label = axes.get_xlabel()
    add_note(axes, "0 names")  # reserves the line of the note
    for _ in range(2):  # settles limits and layout, on which pixels depend; each follows from the other
        axes.figure.canvas.figure.draw_without_rendering()
    axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim(), adjustable="box")  # final, even if the note goes
    pixel = axes.figure.dpi / 72
    to_pixels = axes.transData.transform
    marked, crossed = to_pixels(marks), _dense(to_pixels(lines), 3 * pixel)
    taken, room = np.empty((0, 4)), axes.bbox.extents
    shown = 0
    for name, point in list(zip(names, points))[:MOST_NAMES]:
        text = axes.annotate(
            clean(name), point, (0, 0), textcoords="offset points", fontsize=7, parse_math=False,
            bbox={"facecolor": axes.get_facecolor(), "alpha": 0.8, "linewidth": 0, "pad": 0.5},
        )
        extent = Text.get_window_extent(text)  # without the box's own margin
        boxes = _boxes(to_pixels(point), extent.width, extent.height, GAP * pixel)
        free = [box for box in boxes if (box[:2] >= room[:2]).all() and (box[2:] <= room[2:]).all()]
        free = [box for box in free if not ((taken[:, :2] < box[2:]) & (box[:2] < taken[:, 2:])).all(axis=1).any()]
        free = [box for box in free if not _points_in(box, marked, RADIUS * pixel)]
        if not free:
            text.remove()
            continue
        best = min(free, key=lambda box: _points_in(box, crossed))
        text.set_position(((best[:2] - to_pixels(point)) / pixel).tolist())
        taken, shown = np.vstack([taken, best]), shown + 1
    axes.set_xlabel(label)
    if shown < len(names):
        add_note(axes, f"{shown} of {len(names)} names shown")


def _boxes(point: Points, width: float, height: float, gap: float) -> list[Points]:
    """Return the boxes (left, bottom, right, top) in which a name may stand."""
    found = []
    for right, up in SIDES:
        near = gap if right == 0 or up == 0 else 0.7 * gap
        left = point[0] + (near if right > 0 else -width - near if right < 0 else -width / 2)
        bottom = point[1] + (near if up > 0 else -height - near if up < 0 else -height / 2)
        found.append(np.array([left, bottom, left + width, bottom + height]))
    return found


def _points_in(box: Points, points: Points, radius: float = 0.0) -> int:
    """Return how many points lie in a box that is wider by the radius on each side."""
    return int(((box[:2] - radius < points) & (points < box[2:] + radius)).all(axis=1).sum())


def _dense(line: Points, step: float) -> Points:
    """Return points along a polyline, about one per step and at most 100 per segment."""
    ahead = np.diff(line, axis=0)
    known = np.isfinite(ahead).all(axis=1)
    starts, ahead = line[:-1][known], ahead[known]
    pieces = np.clip(np.hypot(*ahead.T) / step, 1, 100).astype(int)
    part = np.concatenate([np.arange(count) / count for count in pieces]) if len(pieces) else np.empty(0)
    return np.repeat(starts, pieces, axis=0) + np.repeat(ahead, pieces, axis=0) * part[:, None]
