"""Writing Steiner trees in the format of PACE 2018: `VALUE weight`, then both ends of each edge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def steiner_solution_lines(value: float, edges: Iterable[tuple[object, object]]) -> Iterator[str]:
    """Yield the lines of a file with a Steiner tree.

    Parameters
    ----------
    value
        The weight of the tree, in the unit of the instance.
    edges
        Labels (or names) of both ends of each edge.
    """
    yield f"VALUE {value}\n"
    yield from (f"{a} {b}\n" for a, b in edges)
