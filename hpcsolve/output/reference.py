"""Lists all datasets that a result file may have, without solving anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hpcsolve.algorithms.registry import NAMES, algorithm
from hpcsolve.answers import ANSWERS
from hpcsolve.answers.dataset import Dataset, Group, datasets, required
from hpcsolve.output.contents import INSTANCES, JOB, RANKS
from hpcsolve.output.provenance import PROVENANCE, kernel_dataset


@dataclass(frozen=True)
class Row:
    """One dataset of the result file.

    Attributes
    ----------
    group, name
        `/group/name` in the file.
    dataset
        Types, dimension, unit, meaning.
    found_in
        Where it is found: the answer, kind of problem or algorithm; "" if in every file.
    always
        Whether every such file has it.
    """

    group: str
    name: str
    dataset: Dataset
    found_in: str = ""
    always: bool = True


def reference() -> Iterator[Row]:
    """Yield all datasets that a result file may have."""
    yield from _rows("job", JOB)
    for kind, group in INSTANCES.items():
        yield from _rows("instance", group, kind)
    for answer in ANSWERS:
        for record in answer.records:
            rows = datasets(record).items()
            yield from (Row("solution", name, dataset, answer.name, name in required(record)) for name, dataset in rows)
    for name in NAMES:
        for table, group in algorithm(name).tables.items():
            yield from _rows(table, group, name)
    yield from _rows("ranks", RANKS)
    yield from _rows("provenance", PROVENANCE)
    files = sorted({file for name in NAMES for file in algorithm(name).kernel_files})
    yield from _rows("provenance", dict(map(kernel_dataset, files)))


def _rows(name: str, group: Group, found_in: str = "") -> Iterator[Row]:
    yield from (Row(name, key, dataset, found_in, not dataset.optional) for key, dataset in group.items())
