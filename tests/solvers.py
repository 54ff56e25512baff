"""What an algorithm plans for a problem."""

from hpcsolve.device.base import ONE_CORE


def plan_of(solver, problem, parameters, ranks=1, info=ONE_CORE):
    """Return the plan of a problem."""
    return solver.plan(solver.statement(problem, parameters), ranks, info)
