"""The kinds of answers that an algorithm may give: tours, distances, their reductions,
paths and Steiner trees.

tour.py       a travelling salesman's tour, or the statement that there is none
tours.py      the tours of a batch of small instances
distances.py  tables of distances from sources
reductions.py what is kept of the distances from each source, in place of the table
paths.py      a shortest path for each query
tree.py       a Steiner tree with its lower bound
base.py       `AnswerType`, the record of a kind of answer, and `Verdict`, the result of a check
tour_mixin.py the part of `hpcsolve.Result` about tours
vertices.py   the part of `hpcsolve.Result` about vertices and distances
edges.py      the edges of an answer as arrays, for graph libraries and drawings
dataset.py    the declaration of a dataset of the result file: type, dimensions, unit, meaning
table.py      a table of which each rank has some rows

Each kind has one module with its datasets, its checks, the lines that are printed, and its part of `hpcsolve.Result`.
An algorithm makes a record (`Tour`, `Distances`, `Reductions`, `Paths`, `Tree`) from arrays; the kind of answer follows
from its type.
"""

from __future__ import annotations

from hpcsolve.answers.base import AnswerType, record_of_names
from hpcsolve.answers.distances import DISTANCES
from hpcsolve.answers.paths import PATHS
from hpcsolve.answers.reductions import REDUCTIONS
from hpcsolve.answers.tour import TOUR
from hpcsolve.answers.tours import TOURS
from hpcsolve.answers.tree import TREE

ANSWERS = (TOUR, TOURS, DISTANCES, PATHS, REDUCTIONS, TREE)
_TYPES = {record: answer for answer in ANSWERS for record in answer.records}


def answer_type_of_record(record: type) -> AnswerType:
    """Return the kind of answer that a record, such as `Tour`, belongs to."""
    return _TYPES[record]


def answer_type_of_names(names: set[str]) -> AnswerType | None:
    """Return the kind of answer whose datasets these names of `/solution` are, or None if they fit none or several."""
    record = record_of_names(tuple(_TYPES), names)
    return None if record is None else _TYPES[record]
