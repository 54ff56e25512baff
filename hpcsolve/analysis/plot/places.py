"""Where cities and vertices are drawn: coordinates of a plane or of the earth, axis labels, aspect, scale bar."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.base import coordinates_of
from hpcsolve.problems.geographic import DEGREES_MINUTES, EARTH_RADIUS

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


def has_coordinates(result: Result) -> bool:
    """Return whether the result's cities or vertices have coordinates."""
    return result.coordinates is not None


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
    found = coordinates_of(result.contents, kind)
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
    _add_margins(axes)
    axes.set_aspect(_aspect(places), adjustable="datalim")
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


def _add_margins(axes: Axes) -> None:
    """Widen the limits around what is drawn.

    The margins count as data, since matplotlib may use margins up for the aspect.
    """
    if not np.isfinite(axes.dataLim.extents).all():  # nothing is drawn
        return
    room = np.array(MARGINS) * axes.dataLim.size
    axes.update_datalim([axes.dataLim.min - room, axes.dataLim.max + room])
    axes.margins(0)


def add_note(axes: Axes, note: str) -> None:
    """Add a line below the picture."""
    axes.set_xlabel(f"{axes.get_xlabel()}\n{note}".strip("\n"), fontsize="small")


def _aspect(places: Places) -> float:
    """Return the drawn length of a unit of y over that of a unit of x, above 1 for latitude over longitude."""
    return 1 / _longitude_over_latitude(places) if places.geographic else 1.0


def _longitude_over_latitude(places: Places) -> float:
    """Return the length of a degree of longitude over one of latitude, at the middle latitude of the picture."""
    latitudes = places.points[:, 1]
    return max(0.1, math.cos(math.radians((np.nanmin(latitudes) + np.nanmax(latitudes)) / 2)))


def _draw_scale_bar(axes: Axes, places: Places, ink: str | None) -> None:
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties
    from mpl_toolkits.axes_grid1.anchored_artists import AnchoredSizeBar

    axes.apply_aspect()  # the limits are final only now
    low, high = axes.get_xlim()
    unit = KILOMETRES_PER_DEGREE * _longitude_over_latitude(places) if places.geographic else 1.0
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
