"""Writes names beside points, so that no name lies on another one or on a point. Names without room are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.plot.places import add_note
from hpcsolve.analysis.plot.texts import clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Points = NDArray[np.float64]
MOST = 300
"""Names that are tried; a picture has no room for more."""
GAP = 4.0
"""Distance of a name from its point, in points (1/72 inch)."""
RADIUS = 2.5
"""Radius of a mark, in points, that names keep clear of."""
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
"""Where a name may stand beside its point: right, left, above, below, then the corners."""


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
    for name, point in list(zip(names, points))[:MOST]:
        text = axes.annotate(
            clean(name), point, (0, 0), textcoords="offset points", fontsize=7, parse_math=False,
            bbox={"facecolor": axes.get_facecolor(), "alpha": 0.8, "linewidth": 0, "pad": 0.5},
        )
        extent = Text.get_window_extent(text)  # without the box's own margin
        boxes = _boxes(to_pixels(point), extent.width, extent.height, GAP * pixel)
        free = [box for box in boxes if _inside(box, room) and not _overlaps(box, taken)]
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


def _inside(box: Points, room: Any) -> bool:
    return bool((box[:2] >= room[:2]).all() and (box[2:] <= room[2:]).all())


def _overlaps(box: Points, taken: Points) -> bool:
    return bool(((taken[:, :2] < box[2:]) & (box[:2] < taken[:, 2:])).all(axis=1).any())


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
