"""Charts: whether matplotlib is there, and how a figure is saved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hpcsolve.errors import EnvironmentFault


def require_matplotlib() -> None:
    """Raise `EnvironmentFault` if matplotlib is not installed, so that nothing is measured in vain."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise EnvironmentFault("charts need matplotlib: pip install matplotlib") from None


def save(figure: Any, path: Path) -> None:
    """Write a matplotlib figure and create its folder. SVG files hold no date and no random numbers."""
    from matplotlib import rcParams

    rcParams["svg.hashsalt"] = "hpcsolve"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def number_ticks(axis: Any, places: Sequence[float]) -> None:
    """Mark these places of an axis, and no others, with plain numbers."""
    axis.set_ticks(places, [f"{place:g}" for place in places])
    axis.set_ticks([], minor=True)


def plain_decades(axis: Any) -> None:
    """Mark 1, 2 and 5 of each decade of a logarithmic axis with plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def file_part(name: str) -> str:
    """Return an instance's name in the form that file names have: `road:500` becomes `road-500`."""
    return name.replace(":", "-")
