"""Collects the content of the result file on rank 0."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hpcsolve.algorithms.base import Outcome
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.answers import answer_type_of_record
from hpcsolve.answers.base import Verdict
from hpcsolve.answers.contents import Column, Contents, DistanceTable, columns, own_unit
from hpcsolve.output.schema import FORMAT, FORMAT_VERSION, JOB_GROUP, RANKS_GROUP
from hpcsolve.runner.kinds import instance_columns
from hpcsolve.runner.planned import PlannedRun


def contents_of(
    planned: PlannedRun, outcome: Outcome, verdict: Verdict, ranks: Sequence[Mapping[str, Any]],
    provenance: Mapping[str, Column], tables: Mapping[str, DistanceTable], beside: Mapping[str, Mapping[str, Column]],
) -> Contents:
    """Return the whole content of the result file. `beside` are the groups of `groups_beside`."""
    attributes = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "created": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "complete": outcome.complete,
        "algorithm": planned.job.settings.algorithm,
        "cost": own_unit(outcome.cost, planned.instance.problem.scale),
        "verified": verdict.passed is True,
    }
    groups = {
        "job": columns(JOB_GROUP, {"toml": planned.job.text(), "hash": planned.hash}),
        "instance": instance_columns(planned.job, planned.instance),
        "solution": outcome.solution,
        **beside,
        **outcome.groups,
        "ranks": rank_table(ranks),
        "provenance": provenance,
    }
    return Contents(attributes, groups, tables)


def groups_beside(planned: PlannedRun, outcome: Outcome) -> Mapping[str, Mapping[str, Column]]:
    """Return the groups that belong to the kind of answer, of an answer that has not failed its check."""
    problem, solver = planned.instance.problem, algorithm(planned.job.settings.algorithm)
    asked = solver.asked(problem, planned.job.parameters)
    return answer_type_of_record(type(outcome.answer)).beside(problem, asked, outcome.answer)


def rank_table(rows: Sequence[Mapping[str, Any]]) -> dict[str, Column]:
    """Return `/ranks` with one row per rank. Numbers that an algorithm does not give are 0."""
    types = {"text": object, "int64": np.int64, "float64": np.float64}
    found = {name: [row.get(name, 0) for row in rows] for name in RANKS_GROUP}
    values = {name: np.array(found[name], types[dataset.types]) for name, dataset in RANKS_GROUP.items()}
    return columns(RANKS_GROUP, values)
