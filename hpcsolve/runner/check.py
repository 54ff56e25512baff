"""Checks the answer of a run on all ranks before it is written."""

from __future__ import annotations

from hpcsolve.algorithms.base import Outcome
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.answers import ANSWERS, answer_type_of_record
from hpcsolve.answers.base import Verdict, first_failure
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.runner.planned import PlannedRun


def check(planned: PlannedRun, outcome: Outcome, comm: Comm) -> Verdict:
    """Return the verdict on a run's answer, which is the same on every rank. Collective.

    The algorithm's own check comes first, then the check of the kind of answer.
    """
    job, problem = planned.job, planned.instance.problem
    solver, parameters = algorithm(job.settings.algorithm), job.parameters
    wrong = first_failure(comm, solver.check(problem, parameters, outcome))
    if wrong is not None:
        return wrong
    # Rank 0 always has an answer. Other ranks may have no part of it.
    number = comm.bcast(ANSWERS.index(answer_type_of_record(type(outcome.answer))) if comm.rank == 0 else 0)
    # Files that the parameters name need not be on the hosts of other ranks.
    question = on_rank_0(comm, lambda: solver.asked(problem, parameters))
    return ANSWERS[number].check(problem, question, outcome.answer, comm)
