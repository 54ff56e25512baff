"""Charts: whether matplotlib is there, and how a figure is saved."""

from __future__ import annotations

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


def file_part(name: str) -> str:
    """Return an instance's name in the form that file names have: `road:500` becomes `road-500`."""
    return name.replace(":", "-")
