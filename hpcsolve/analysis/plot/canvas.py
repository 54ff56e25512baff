"""Where a picture is drawn, and its title."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpcsolve.analysis.plot.texts import clean
from hpcsolve.errors import EnvironmentFault, InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hpcsolve.analysis.load import Result

SIZE = (7.0, 5.4)
"""Width and height of a new figure in inches."""
RASTER_FROM = 1500
"""From this number of marks on, they are rasterized in SVG and PDF, where each would take some 100 bytes."""


def require_matplotlib() -> None:
    """Raise an `EnvironmentFault` if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise EnvironmentFault("matplotlib is not installed: pip install matplotlib") from None


def axes_for(axes: Axes | None) -> Axes:
    """Return these axes, or the axes of a new figure of pyplot, which notebooks show and `pyplot.show` finds.

    Raises
    ------
    InputError
        They are no axes of matplotlib.
    EnvironmentFault
        matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib import pyplot
    from matplotlib.axes import Axes

    if axes is not None and not isinstance(axes, Axes):
        what = f"{type(axes).__name__} is not axes of matplotlib"
        raise InputError(f"{what}; give what pyplot.gca() or one of pyplot.subplots()[1] is, or nothing")
    return axes if axes is not None else pyplot.subplots(figsize=SIZE, layout="constrained")[1]


def set_title(axes: Axes, result: Result, text: str, pad: float | None = None) -> None:
    """Set the title: the name of the instance and a text below it, `pad` points above the axes."""
    lines = [clean(result.contents.value("instance", "name")), text]
    axes.set_title("\n".join(filter(None, lines)), parse_math=False, fontsize="medium", pad=pad)
