"""Notes on an instance, as lines for the log of a run: what its input has beside it, and what in it may be a mistake.

Readers put the first kind into the field `notes` of a problem. The second kind follows from the problem itself, however
it was read. An instance with notes is solved all the same; what cannot be meant is refused where it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from hpcsolve.problems.distances import great_circle
from hpcsolve.problems.geographic import DEGREES, DEGREES_MINUTES, WINDOW_COLUMNS, word_of
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.tsp import NO_ARC, Tsp, TspBatch
from hpcsolve.wording import counted, not_solved, shown

FAR = 10
"""A place may be a mistake if it is more than this many times as far from the median place as the farthest of the
nearest nine tenths of all places."""
ONE_WAY = "oneway"
"""What OpenStreetMap, and tables made from it, call the direction of a street."""
_ONE_WAY_OUT = "; directed = true would make each line an arc, so write two-way streets in both directions first"
_BOTH_WAYS = ("", "no", "false", "0", "0.0", "none", "nan")
_FEWEST_PLACES = 5
"""The fewest places among which one can be far from all others."""
_LONGEST = 80
_OTHER_WINDOWS = (("from", "to"), ("start", "end"), ("open", "close"), ("opens", "closes"), ("open from", "open until"))
"""What tables call the columns of time windows that hpcsolve expects under other titles."""


def read_note(text: str) -> str:
    """Return the line that says how something in the input was taken."""
    return f"read:   {text}"


def not_used(titles: Sequence[object], what: str = "column") -> tuple[str, ...]:
    """Return the line that names columns (or what else the input calls its parts) that are not used, if any."""
    if not titles:
        return ()
    names = ", ".join(str(title) or "(without a title)" for title in titles)
    text = repr(names if len(names) <= _LONGEST else f"{names[:_LONGEST]}...")[1:-1]
    unsolved = next(filter(None, (not_solved(str(title)) for title in titles)), "")
    end = f"; {unsolved}" if unsolved else ""
    words = {word_of(title) for title in titles}
    if not end and words.issuperset(WINDOW_COLUMNS[:2]):
        end = "; with instance.speed, in km/h, they are time windows"
    elif not end and any(words.issuperset(pair) for pair in _OTHER_WINDOWS):
        end = "; time windows are the columns earliest and latest"
    return (f"note:   not used: the {what}{'s' * (len(titles) > 1)} {text}{end}",)


def one_way_notes(
    what: str, values: Iterable[object], directed: bool | None, stated: bool = False
) -> tuple[str, ...]:
    """Return the line that says how edges are read although the input marks some as one-way, or no line if none is.

    The marks themselves are never used.

    Parameters
    ----------
    what
        What the input calls the part that has the marks, such as "column".
    values
        The marks, one for each edge that has one.
    directed
        What the user says.
    stated
        Whether the input itself says that it is undirected. Then no way out is offered.
    """
    found = [str(value).strip().lower() for value in values]
    if directed and found:
        return (read_note(f"the {what} {ONE_WAY} is not used: each line is an arc, from its first end to its last"),)
    if directed is None and any(value not in _BOTH_WAYS for value in found):
        way_out = "" if stated else _ONE_WAY_OUT
        return (read_note(f"the {what} {ONE_WAY} is not used: edges lead both ways{way_out}"),)
    return ()


def notes_on(problem: Tsp | TspBatch | Graph) -> Iterator[str]:
    """Yield the lines of all notes on an instance, or of a batch the note on the first instance with negative costs."""
    if isinstance(problem, TspBatch):
        for begin, part in zip(problem.begins.tolist(), problem.parts):
            costs = part.costs()
            for at in np.flatnonzero((costs < 0).any(axis=(1, 2))).tolist() if costs.min(initial=0) < 0 else ():
                for line in _negative_costs(part.instance(at)):
                    yield f"{line} (instance {begin + at})"
                    return
        return
    yield from problem.notes
    if isinstance(problem, Tsp):
        yield from _negative_costs(problem)
        yield from _zero_costs(problem)
        yield from _equal_places(problem)
        yield from _equal_names(problem)
    yield from _far_places(problem)


def _negative_costs(tsp: Tsp) -> Iterator[str]:
    """Yield the note on negative costs among positive ones: -1 may mean that there is no arc."""
    if tsp.metric or tsp.cost.min() >= 0 or not ((tsp.cost > 0) & (tsp.cost != NO_ARC)).any():
        return
    negative = tsp.cost < 0
    row, column = (int(index) for index in np.unravel_index(np.argmax(negative), negative.shape))
    cost = tsp.cost[row, column] if tsp.scale == 1 else tsp.cost[row, column] / tsp.scale
    where = f"{_name(tsp, row)} to {_name(tsp, column)}, {cost}"
    yield (f"note:   {counted(int(np.count_nonzero(negative)), 'cost')} below 0 (the first one from {where}) among "
           "positive ones; where there is no arc, write inf")


def _zero_costs(tsp: Tsp) -> Iterator[str]:
    """Yield the note on costs of 0, of which a table has many if 0 means in it that there is no arc.

    Some are usual, of cities at one place; so it is said if they are a quarter of all, and as many as cities. A city
    all of whose costs to or from the others are 0 does not count: it makes a cycle of an open path.
    """
    pairs = tsp.n * (tsp.n - 1)
    many = max(1, tsp.n, -(-pairs // 4))
    if tsp.metric or tsp.network or tsp.cost.size - np.count_nonzero(tsp.cost) < many:
        return
    zero = tsp.cost == 0
    np.fill_diagonal(zero, True)
    counts = zero & ~zero.all(axis=1)[:, None] & ~zero.all(axis=0)
    np.fill_diagonal(counts, False)
    count = int(np.count_nonzero(counts))
    if count >= many:
        yield f"note:   {count} of the {pairs} costs between cities are 0; where there is no arc, write inf"


def _equal_places(tsp: Tsp) -> Iterator[str]:
    """Yield the note on the first place that is there twice, with the same name and coordinates."""
    if tsp.coordinates is None or tsp.coordinates_kind != DEGREES:
        return
    order = np.lexsort(tsp.coordinates.T)
    same = (np.diff(tsp.coordinates[order], axis=0) == 0).all(axis=1)
    seen: dict[object, int] = {}
    for city in np.union1d(order[1:][same], order[:-1][same]).tolist():
        place = tuple(tsp.coordinates[city].tolist())
        other = seen.setdefault((place, *tsp.city_names[city : city + 1]), city)
        if other != city:
            numbers = f"the cities {tsp.labels[other]} and {tsp.labels[city]}"
            what = f"{shown(tsp.city_names[city])} is there twice, as {numbers}" if tsp.city_names else \
                f"{numbers} are at the same place"
            yield f"note:   {what}; a tour visits both"
            return


def _equal_names(tsp: Tsp) -> Iterator[str]:
    """Yield the note on the first name that two places have which are not the same."""
    if tsp.coordinates is None or tsp.coordinates_kind != DEGREES:
        return
    seen: dict[str, int] = {}
    for city, name in enumerate(tsp.city_names):
        other = seen.setdefault(name, city)
        if other != city and (tsp.coordinates[other] != tsp.coordinates[city]).any():
            numbers = f"the cities {tsp.labels[other]} and {tsp.labels[city]}"
            yield f"note:   {numbers} are both called {shown(name)}, at different places; a tour visits both"
            return


def _far_places(problem: Tsp | Graph) -> Iterator[str]:
    """Yield the note on places that are much farther from the median place than nine of ten are.

    Graphs whose coordinates are not degrees are left out, since these coordinates only serve to draw them.
    """
    points, globe = problem.coordinates, problem.coordinates_kind in (DEGREES, DEGREES_MINUTES)
    if points is None or len(points) < _FEWEST_PLACES or not (globe or isinstance(problem, Tsp)):
        return
    # np.median and np.quantile would import numpy.ma first, a hundredth of a second of each run.
    median = np.partition(points, len(points) // 2, axis=0)[len(points) // 2]
    far = great_circle(points, median) / 1000 if globe else np.sqrt(((points - median) ** 2).sum(axis=1))
    at = int(0.9 * (len(far) - 1))
    usual = float(np.partition(far, at)[at])
    beyond = np.flatnonzero(far > FAR * usual)
    if usual == 0 or not len(beyond):
        return
    worst = int(beyond[np.argmax(far[beyond])])
    unit = " km" if globe else ""
    which = _name(problem, worst) if len(beyond) == 1 else f"{_name(problem, worst)} and {len(beyond) - 1} more"
    swapped = "; are latitude and longitude exchanged?" if globe else ""
    yield (f"note:   {which}: {far[worst]:.4g}{unit} from the median place, from which nine of ten are within "
           f"{usual:.4g}{unit}{swapped}")


def _name(problem: Tsp | Graph, position: int) -> str:
    """Return a city or vertex as messages name it."""
    names = problem.city_names if isinstance(problem, Tsp) else problem.vertex_names
    return shown(names[position]) if names else str(problem.labels[position])
