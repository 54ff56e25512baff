"""Writing Steiner trees in the format of PACE 2018: `VALUE weight`, then both ends of each edge."""

from __future__ import annotations

from collections.abc import Iterable

from hpcsolve.formats.files import write_text


def write_steiner_solution(value: float, edges: Iterable[tuple[object, object]], path: str) -> None:
    """Write a Steiner tree.

    Parameters
    ----------
    value
        The weight of the tree, in the unit of the instance.
    edges
        Labels (or names) of both ends of each edge.
    path
        "-" is standard output.

    Raises
    ------
    EnvironmentFault
        The file cannot be written.
    """
    write_text("\n".join([f"VALUE {value}", *(f"{a} {b}" for a, b in edges), ""]), path)
