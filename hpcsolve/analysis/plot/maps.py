"""What maps share: where cities and vertices are drawn, axis labels, scale bar, the network in grey, and names.

Coordinates are those of a plane or of the earth. Edges are drawn as one line with gaps, since thousands of lines would
take minutes. The network is the graph that was solved, read or generated again, since the result file keeps no edges.
Names stand beside points, so that no name lies on another one or on a point. A name without room beside its point
stands farther away, with a line to the point. Names without room there are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.plot.canvas import BLACK, GREY, RASTER_FROM, clean
from hpcsolve.analysis.streets import Points, network_of
from hpcsolve.answers.edges import edges_of
from hpcsolve.errors import InputError
from hpcsolve.problems.distances import EARTH_RADIUS
from hpcsolve.problems.geographic import DEGREES_MINUTES
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.libraries import from_networkx, from_scipy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result

KILOMETRES_PER_DEGREE = EARTH_RADIUS / 1000 * math.pi / 180
"""Of latitude."""
BAR = 0.25
"""Largest fraction of the picture's width that the scale bar takes."""
MARGINS = (0.1, 0.06)
"""Room on each side of a map, in x and in y, as fractions of its size: names are wider than high."""
LARGE = 1e6
"""Coordinates from which the axes have powers of ten."""
MOST_CURVES = 50_000
"""The most edges of a network that are drawn along their curves: a second or two."""
MOST_NAMES = 300
"""The most names that are tried, since a picture has no room for more."""
GAP = 4.0
"""Distance of a name from its point, in points (1/72 inch)."""
RADIUS = 2.5
"""Radius of a mark, in points, that names keep clear of."""
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
"""Where a name may stand beside its point: right, left, above, below, then the corners."""
RINGS = (3.0, 5.0, 8.0, 12.0, 17.0, 23.0, 30.0)
"""Distances of names that have a line to their point, in multiples of `GAP`."""
DIRECTIONS = 16
"""How many directions are tried at each of these distances."""
LED_UP_TO = 60
"""Names up to which those without room have lines. More lines would cover the map."""


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
    axes.locator_params(nbins=6)
    axes.locator_params(axis="x", prune="upper")  # a long number at the end would be cut off
    if np.abs(axes.dataLim.extents).max() < LARGE:
        axes.ticklabel_format(style="plain", useOffset=False)  # a factor would stand where the legend is
    else:
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:g}")
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
    graph = graph_of(result, network)
    if graph is None:
        return
    if graph.n != len(points):
        raise InputError(f"the network has {graph.n} vertices, but the result {len(points)}")
    draw_edges(axes, graph, points)


def graph_of(result: Result, network: object) -> Graph | None:
    """Return the graph that the option `network` of a picture names, None if there is none. As in `draw_network`."""
    if isinstance(network, (bool, Graph)):
        return network_of(result.contents) if network is True else network or None
    given: Any = network  # as a program gave it, with any weights
    return from_networkx(given, None) if hasattr(given, "is_directed") else from_scipy(given)


def draw_edges(axes: Axes, graph: Graph, points: Points, near: Points | None = None) -> None:
    """Draw the edges of a graph in grey, below all else, along their curves if the graph has them.

    Parameters
    ----------
    near
        Shape (k, 2): draw only what lies near these points, to which the map is limited then.
    """
    tails = graph.tails()
    drawn = np.ones(graph.arcs, bool) if graph.directed else tails < graph.heads
    if near is not None:
        low, high = np.nanmin(near, axis=0), np.nanmax(near, axis=0)
        inside = (np.abs(points - (low + high) / 2) <= (high - low).max()).all(axis=1)
        drawn &= inside[tails] | inside[graph.heads]
    ends, edges = (tails[drawn], graph.heads[drawn]), int(drawn.sum())
    curved = graph.edge_texts is not None and edges <= MOST_CURVES
    line = edges_of(graph, *ends).lines(*ends, points) if curved else line_of_edges(points, *ends)
    width = float(np.clip(60 / np.sqrt(max(edges, 1)), 0.15, 0.8))
    look: dict[str, Any] = {"color": GREY, "linewidth": width, "alpha": 0.5, "zorder": 0, "gid": "network"}
    axes.plot(*line.T, "-", rasterized=edges > RASTER_FROM, scalex=near is None, scaley=near is None, **look)
    if near is not None:
        from matplotlib.transforms import Bbox

        axes.dataLim.set_points(Bbox.null().get_points())
        axes.update_datalim(near)


def with_names(names: bool | None, count: int, most: int) -> bool:
    """Return whether to write names: what the caller says, or by default whether there are at most `most`."""
    return count <= most if names is None else names


def write_names(
    axes: Axes, points: Points, names: Sequence[Any], marks: Points, lines: Points, short: Sequence[Any] = ()
) -> None:
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
    short
        What to write in place of the names that have no room, if there is room for that.
    """
    label = axes.get_xlabel()
    shown = _write_names(axes, points, [names], marks, lines, all_or_none=True)
    if shown < len(names):
        add_note(axes, "0 names")  # reserves the line of the note, for which the map becomes smaller
        shown = _write_names(axes, points, [names, short], marks, lines, all_or_none=False)
        axes.set_xlabel(label)
        add_note(axes, f"{shown} of {len(names)} names shown")


def _write_names(
    axes: Axes, points: Points, choices: Sequence[Sequence[Any]], marks: Points, lines: Points, all_or_none: bool
) -> int:
    """Write a text at each point where the present layout has room, and return how many have their first choice.

    `choices` has for each choice the texts of all points. A later one is tried where the earlier ones have no room.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.text import Text

    for _ in range(2):  # settles limits and layout, on which pixels depend; each follows from the other
        axes.figure.canvas.figure.draw_without_rendering()
    axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim(), adjustable="box")
    axes.figure.canvas.figure.draw_without_rendering()
    pixel = axes.figure.dpi / 72
    to_pixels = axes.transData.transform
    room = _Room(pixel, np.array(axes.bbox.extents), to_pixels(marks), _dense(to_pixels(lines), 3 * pixel))
    rings = (1.0, *RINGS) if len(choices[0]) <= LED_UP_TO else (1.0,)
    written: dict[int, Text] = {}
    ends, shown = [], 0
    for choice, names in enumerate(choices):
        for number, (name, point) in enumerate(list(zip(names, points))[:MOST_NAMES]):
            if number in written:
                continue
            text = axes.annotate(
                clean(name), point, (0, 0), textcoords="offset points", fontsize=7, parse_math=False, va="bottom",
                bbox={"facecolor": axes.get_facecolor(), "alpha": 0.8, "linewidth": 0, "pad": 0.5},
            )
            extent, at = Text.get_window_extent(text), to_pixels(point)  # without the box's own margin
            box = room.take(at, np.array([extent.width, extent.height]), rings)
            if box is None:
                text.remove()
                if not all_or_none:
                    continue
                for other in written.values():
                    other.remove()
                return 0
            written[number] = text
            text.set_position(((box[:2] - at) / pixel).tolist())
            if not _is_beside(at, box, pixel):
                ends.append(np.stack([point, axes.transData.inverted().transform(_nearest(at, box))]))
        if choice == 0:
            shown = len(written)
    if ends:
        leaders = LineCollection(ends, colors=BLACK, linewidths=0.5, zorder=1.5, gid="leaders")
        axes.add_collection(leaders, autolim=False)
    return shown


@dataclass
class _Room:
    """Where names may stand: what lies there already, all in pixels.

    Attributes
    ----------
    pixel
        A point (1/72 inch) in pixels.
    inside
        Left, bottom, right and top of the axes, which no name may leave.
    marked, crossed
        Shape (points, 2): points that no name may cover, and points that names avoid where they can.
    taken, leaders
        The boxes of the names so far, shape (names, 4), and points along their lines.
    """

    pixel: float
    inside: Points
    marked: Points
    crossed: Points
    taken: Points = field(default_factory=lambda: np.empty((0, 4)))
    leaders: Points = field(default_factory=lambda: np.empty((0, 2)))

    def take(self, at: Points, size: Points, rings: Sequence[float]) -> Points | None:
        """Return the box that a name takes from now on, as near to its point as has room, or None without room."""
        for ring in rings:
            boxes = _boxes(at, size, ring * GAP * self.pixel, beside=ring == 1)
            if free := [box for box in boxes if self._is_free(at, box)]:
                best = min(free, key=lambda box: _points_in(box, self.crossed))
                self.taken = np.vstack([self.taken, best])
                self.leaders = np.vstack([self.leaders, self._leader(at, best)])
                return best
        return None

    def _is_free(self, at: Points, box: Points) -> bool:
        """Return whether a box lies inside the axes and is free, and the line from there to the point meets no name."""
        low, high = box[:2], box[2:]
        if (low < self.inside[:2]).any() or (high > self.inside[2:]).any():
            return False
        if ((self.taken[:, :2] < high) & (low < self.taken[:, 2:])).all(axis=1).any():
            return False
        if _points_in(box, self.marked, RADIUS * self.pixel) or _points_in(box, self.leaders):
            return False
        leader = self._leader(at, box)[:, None]
        return not ((self.taken[:, :2] < leader) & (leader < self.taken[:, 2:])).all(axis=2).any()

    def _leader(self, at: Points, box: Points) -> Points:
        """Return points along the line from a name's point to its box, none if it is beside it."""
        if _is_beside(at, box, self.pixel):
            return np.empty((0, 2))
        return _dense(np.stack([at, _nearest(at, box)]), self.pixel)


def _nearest(at: Points, box: Points) -> Points:
    """Return the point of a box that is nearest to a point."""
    nearest: Points = np.clip(at, box[:2], box[2:])
    return nearest


def _is_beside(at: Points, box: Points, pixel: float) -> bool:
    """Return whether a name is so near to its point that it needs no line."""
    return bool(np.hypot(*(_nearest(at, box) - at)) <= 1.5 * GAP * pixel)


def _boxes(point: Points, size: Points, gap: float, beside: bool) -> list[Points]:
    """Return the boxes (left, bottom, right, top) in which a name may stand: beside its point, or around it."""
    if beside:
        centres = [np.array(side) * ((gap if 0 in side else 0.7 * gap) + size / 2) for side in SIDES]
    else:
        angles = np.arange(DIRECTIONS) * 2 * math.pi / DIRECTIONS
        centres = list(np.stack([np.cos(angles), np.sin(angles)], axis=1) * (gap + size / 2))
    return [np.concatenate([point + centre - size / 2, point + centre + size / 2]) for centre in centres]


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
