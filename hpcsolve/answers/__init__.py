"""The kinds of answers that an algorithm may give: tours, distances, their reductions,
paths and Steiner trees.

tour.py       a travelling salesman's tour, or the statement that there is none
tours.py      the tours of a batch of instances
distances.py  tables of distances from sources
reductions.py what is kept of the distances from each source, in place of the table
paths.py      a shortest path for each query
tree.py       a Steiner tree with its lower bound
edges.py      the edges of paths or of a tree, with what the instance's input says of them
snaps.py      the places that stand for vertices, and how far these are
rounding.py   what an answer is worth in the numbers before rounding
base.py       `AnswerType`, a kind of answer, and what all kinds have in common
contents.py   the content of a result: datasets, tables, and `Contents`, the whole

Each kind has one module with its datasets, its checks, the lines that are printed, and its part of `hpcsolve.Result`.
An algorithm makes a record (`Tour`, `Distances`, `Reductions`, `Paths`, `Tree`) from arrays; the kind of answer follows
from its type.
"""

from __future__ import annotations

from hpcsolve.answers.base import AnswerType, record_of_names
from hpcsolve.answers.contents import Contents
from hpcsolve.answers.distances import DISTANCES
from hpcsolve.answers.paths import PATHS
from hpcsolve.answers.reductions import REDUCTIONS
from hpcsolve.answers.tour import TOUR
from hpcsolve.answers.tours import TOURS
from hpcsolve.answers.tree import TREE

ANSWERS: tuple[AnswerType, ...] = (TOUR, TOURS, DISTANCES, PATHS, REDUCTIONS, TREE)
_TYPES = {record: answer for answer in ANSWERS for record in answer.records}


def answer_type_of_record(record: type) -> AnswerType:
    """Return the kind of answer that a record, such as `Tour`, belongs to."""
    return _TYPES[record]


def answer_type_of_names(names: set[str]) -> AnswerType | None:
    """Return the kind of answer whose datasets these names of `/solution` are, or None if they fit none or several."""
    record = record_of_names(tuple(_TYPES), names)
    return None if record is None else _TYPES[record]


def answer_in(contents: Contents) -> AnswerType | None:
    """Return the kind of answer in a result, or None if `/solution` is not one complete answer."""
    return answer_type_of_names(contents.names)
