"""Checks the answer of a run on all ranks before it is written."""

from __future__ import annotations

from hpcsolve.algorithms.base import Outcome
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.answers import ANSWERS, type_of
from hpcsolve.answers.base import Verdict, failed
from hpcsolve.parallel.comm import Comm
from hpcsolve.runner.task import Task


def check(task: Task, outcome: Outcome, comm: Comm) -> Verdict:
    """Return the verdict on a run's answer, which is the same on every rank. Collective.

    The algorithm's own check comes first, then that of the kind of answer."""
    solver, problem, parameters = algorithm(task.job.settings.algorithm), task.instance.problem, task.job.parameters
    wrong = failed(comm, solver.check(problem, parameters, outcome))
    if wrong is not None:
        return wrong
    # Rank 0 has an answer always, the others may have no part of it.
    number = comm.bcast(ANSWERS.index(type_of(type(outcome.answer))) if comm.rank == 0 else 0)
    return ANSWERS[number].check(problem, solver.asked(problem, parameters), outcome.answer, comm)
