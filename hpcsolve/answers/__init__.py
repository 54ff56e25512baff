"""The kinds of answers. One module for each has its datasets, checks, lines for people, and face in Python.

tour.py       a travelling salesman's tour, or the proof that there is none
distances.py  tables of distances from sources
paths.py      paths between pairs of vertices
tree.py       a Steiner tree with what certifies it
dataset.py    what a dataset of the result file is: type, dimension, unit, meaning
table.py      a table of which each rank has some rows
base.py       what every kind of answer has

An algorithm builds a record (`Tour`, `Distances`, `Paths`, `Tree`) from plain arrays; the rest follows from its type.
"""

from __future__ import annotations

from hpcsolve.answers.base import AnswerType, record_in
from hpcsolve.answers.distances import DISTANCES
from hpcsolve.answers.paths import PATHS
from hpcsolve.answers.tour import TOUR
from hpcsolve.answers.tree import TREE

ANSWERS = (TOUR, DISTANCES, PATHS, TREE)
_TYPES = {record: answer for answer in ANSWERS for record in answer.records}


def type_of(record: type) -> AnswerType:
    """Return the kind of answer that a record, such as `Tour`, belongs to."""
    return _TYPES[record]


def type_in(there: set[str]) -> AnswerType | None:
    """Return the kind of answer that is whole among datasets of `/solution`, None if there is not just one."""
    record = record_in(tuple(_TYPES), there)
    return None if record is None else _TYPES[record]
