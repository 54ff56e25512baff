"""Writing Steiner trees as the PACE challenge of 2018 wants them: `VALUE weight`, then both ends of each edge."""

from __future__ import annotations

from collections.abc import Iterable

from hpcsolve.formats.write import write_text


def write_steiner_solution(value: float, edges: Iterable[tuple[object, object]], path: str) -> None:
    """Write a tree.

    Parameters
    ----------
    value
        Its weight in the instance's own unit.
    edges
        Labels (or names) of both ends.
    path
        "-" is standard output.

    Raises
    ------
    EnvironmentFault
        If the file cannot be written.
    """
    write_text("\n".join([f"VALUE {value}", *(f"{a} {b}" for a, b in edges), ""]), path)
