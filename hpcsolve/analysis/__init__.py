"""Opening one result or many: tables, statistics, exports and pictures, with neither MPI nor a device.

load.py        one result as a Python object
collect.py     many results as one table
statistics.py  statistics of the runs of a sweep, and their pictures
export.py      an answer as a file for other programs
plot/          pictures of a result
"""

from __future__ import annotations

from importlib import import_module

from hpcsolve.errors import EnvironmentFault


def require_installed(library: str) -> None:
    """Raise an `EnvironmentFault` if an optional library is not installed."""
    try:
        import_module(library)
    except ModuleNotFoundError:
        raise EnvironmentFault(f"{library} is not installed: pip install {library}") from None
