"""hpcsolve: exact and heuristic graph optimisation on MPI ranks that own a GPU or CPU cores each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hpcsolve.api import Interrupted, Result, collect, join, load, solve

__version__ = "0.1.0"
__all__ = ["Interrupted", "Result", "__version__", "collect", "join", "load", "solve"]


def __dir__() -> list[str]:
    """Return the names of the module, with those that are loaded on first use."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> object:
    """Return a name of the Python interface, whose module `api` is loaded on first use."""
    if name in __all__:
        from hpcsolve import api

        return getattr(api, name)
    raise AttributeError(f"module 'hpcsolve' has no attribute {name!r}")
