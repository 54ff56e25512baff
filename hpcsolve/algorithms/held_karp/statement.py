"""The statement of a job: the question about an instance, or about each of a batch, and which method can answer it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hpcsolve.algorithms.base import NO_STOP, Statement, StopCriteria
from hpcsolve.algorithms.held_karp import batch
from hpcsolve.algorithms.held_karp.bounded import run as bounded
from hpcsolve.algorithms.held_karp.lattice.reduce import ReducedCosts, reduce_costs
from hpcsolve.algorithms.held_karp.problem import MOST_INNER_CITIES, Core, OrderProblem, core_problem, order_problem
from hpcsolve.algorithms.held_karp.question import NO_EXTRA_ANSWERS, ExtraAnswers, Parameters, asked
from hpcsolve.errors import InputError
from hpcsolve.formats.files import open_file
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import Tsp, TspBatch

LATTICE_CITIES, ORDERED_CITIES = 28, 20
"""The most cities for which `method = "auto"` takes the lattice: for plain sums, and for other questions.

The lattice then takes about a second. For other questions its table takes up to eight times the memory and the work.
"""
MOST_CITIES = MOST_INNER_CITIES + 1
"""The most cities of a cycle that any method takes: the first city, and those that a state's key of bounds holds."""
MOST_LATTICE_CITIES = 46
"""The most cities for which a block of the lattice's kernel has room. Memory ends long before."""
FEWEST_BOUNDED = 10
"""Fewer cities are always solved by the lattice."""
FILES = ("costs", "windows")
"""The keys that name files."""


@dataclass(frozen=True, eq=False)
class TourStatement(Statement):
    """What is asked of an instance, in the forms that the methods solve. Each form is made when it is first needed.

    Of a batch, the question is that of each instance, and there are no other forms.
    """

    parameters: Parameters
    question: TourQuestion

    @property
    def extra(self) -> ExtraAnswers:
        """What is asked for beside an optimal tour."""
        return extra_answers(self.parameters)

    @property
    def plain(self) -> bool:
        """Whether it is a plain sum, without further answers."""
        return self.question.plain and self.extra == NO_EXTRA_ANSWERS

    @cached_property
    def core(self) -> Core:
        """The cities and the depot, with the instance's own costs."""
        return core_problem(self.problem, self.question)

    @cached_property
    def reduced(self) -> ReducedCosts:
        """The core's costs as small integers, by heuristics and scipy: made on one rank, so that all have the same."""
        return reduce_costs(self.core.cost)

    @cached_property
    def orders(self) -> OrderProblem:
        """The best order of the core's cities, with every objective and constraint."""
        return order_problem(self.problem, self.question)

    def fits(self) -> bool:
        """Return whether the method's states suffice for the costs as they are."""
        if isinstance(self.problem, TspBatch):
            return batch.fits(self.problem, self.question)
        by_bounds = is_bounded(self.problem, self.parameters)
        if not by_bounds and self.question.plain and len(self.core.cities) > MOST_LATTICE_CITIES:
            return True  # the plan refuses them with a better message
        try:
            form = self.orders if by_bounds or not self.question.plain else self.reduced
        except InputError:
            return False
        return not isinstance(form, OrderProblem) or not by_bounds or bounded.fits(form)

    def may_end_early(self, criteria: StopCriteria = NO_STOP) -> bool:
        """Return whether bounds solve it, whose best tour so far is an answer."""
        return super().may_end_early(criteria) and is_bounded(self.problem, self.parameters, criteria)


def statement(tsp: Tsp | TspBatch, parameters: Parameters) -> TourStatement:
    """Return the statement of a job, whose files are read. Raises as `asked`, and for files that have changed."""
    files = {}
    for key in FILES:
        path, expected = getattr(parameters, key), getattr(parameters, f"{key}_sha256")
        if path is not None:
            files[key] = open_file(path)
            if expected not in (None, files[key].sha256):
                what = f"is not the file of the job (its SHA-256 differs); --set held-karp.{key}=FILE uses it anyway"
                raise files[key].error(what)
    sha256 = {key: file.sha256 for key, file in files.items()}
    return TourStatement(tsp, parameters, asked(tsp, parameters, files), sha256)


def extra_answers(parameters: Parameters) -> ExtraAnswers:
    """Return what the parameters ask for beside an optimal tour."""
    return ExtraAnswers(parameters.count, parameters.best, parameters.arcs)


def is_bounded(tsp: Tsp | TspBatch, parameters: Parameters, criteria: StopCriteria = NO_STOP) -> bool:
    """Return whether a job is solved by bounds.

    Parameters
    ----------
    criteria
        Criteria to stop at, which the lattice cannot honour.

    Raises
    ------
    InputError
        The method cannot solve this kind of problem.
    """
    stops = criteria != NO_STOP
    obstacle = "a batch is solved by tables" if isinstance(tsp, TspBatch) else why_not_bounded(parameters)
    if parameters.method == "bounded" and obstacle:
        raise InputError(f'held-karp.method: "bounded" cannot do this: {obstacle}; use "auto" or "lattice"')
    if parameters.method == "auto" and stops and obstacle:
        raise InputError(f'stop: only held-karp.method = "bounded" can be stopped early, but {obstacle}; remove [stop]')
    if parameters.method == "lattice" or obstacle or isinstance(tsp, TspBatch) or tsp.n < FEWEST_BOUNDED:
        return False
    return parameters.method == "bounded" or stops or tsp.n > most_in_lattice(parameters, bool(tsp.precedences))


def may_be_bounded(tsp: Tsp, parameters: Parameters) -> bool:
    """Return whether bounds may solve a job in place of a lattice that does not fit in the memory."""
    return parameters.method == "auto" and tsp.n >= FEWEST_BOUNDED and not why_not_bounded(parameters)


def most_in_lattice(parameters: Parameters, precedences: bool) -> int:
    """Return the most cities for which "auto" takes the lattice. `precedences`: whether the instance has some."""
    plain = parameters.objective == "sum" and not (parameters.before or precedences)
    return LATTICE_CITIES if plain and not (parameters.position or parameters.not_position) else ORDERED_CITIES


def why_not_bounded(parameters: Parameters) -> str:
    """Return why bounds cannot solve what the parameters ask for, in words, or ""."""
    if parameters.layout != "planes":
        return f'layout = "{parameters.layout}" belongs to the lattice'
    if extra_answers(parameters) != NO_EXTRA_ANSWERS:
        return "more than one optimal tour needs all states (count, best, arcs)"
    if parameters.objective not in ("sum", "latency", "position"):
        return f'objective = "{parameters.objective}" does not add up costs by place'
    if parameters.objective == "latency" and len(set(parameters.weights or ())) > 1:
        return "with different weights of the cities the costs depend on which cities are left"
    return ""
