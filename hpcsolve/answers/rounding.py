"""The group `/rounding` of a result whose numbers were rounded: what the answer is worth before rounding, in words too.

What is claimed, and why it holds, is in `problems.unrounded`. Every sentence and number about rounding, in lines,
reports, tables and Python, comes from here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from hpcsolve.answers.contents import Column, Contents, Dataset, Group, columns
from hpcsolve.answers.schedule import time_unit_of
from hpcsolve.problems.clock import UNITS, clock_text
from hpcsolve.problems.rounding import EXACT, decimals_of, own_decimal, unit_text
from hpcsolve.problems.unrounded import Unrounded

_BEFORE = "in the numbers before rounding, an exact decimal in the instance's own unit"
_MISSING = "missing if nothing is known"
ROUNDING = {
    "cost": Dataset("text", f"Cost of the answer {_BEFORE}", optional=True),
    "error": Dataset(
        "float64", "How far the optimum, or any distance, before rounding may at most be below the value that the "
        f"rounded numbers prove, in the instance's own unit; {_MISSING}", optional=True),
    "part": Dataset("float64", "Of distances, in place of `error`: the same as a fraction of each distance",
                    optional=True),
    "dearest": Dataset("text", f'Of objective "lexicographic": cost of the dearest leg {_BEFORE}', optional=True),
    "dearest_error": Dataset("float64", "The same as `error`, for the dearest leg", optional=True),
    "slack": Dataset("float64", 'Of objective "finish": what is proven holds for tours that keep all windows with this '
                     "to spare, in the numbers before rounding", optional=True),
    "late": Dataset("float64", "How late the tour is for a window in the numbers before rounding; missing if it keeps "
                    "all", optional=True),
    "best_costs": Dataset("text", f"Costs of /solution/best_tours {_BEFORE}", "best_tour", optional=True),
    "costs": Dataset("text", f"Cost of each tour {_BEFORE}; empty without a tour", "instance", optional=True),
    "distance": Dataset("text", f"Lengths of the paths {_BEFORE}; empty without a path. Missing if there are many",
                        "query", optional=True),
}
"""The group `/rounding`, of all kinds of answers together."""
LONGEST_DECIMAL = 40
"""Characters up to which an exact decimal is printed in full."""


def declared(*names: str, **groups: Group) -> dict[str, Group]:
    """Return the declaration of other groups, then of `/rounding` with the datasets that a kind of answer has in it."""
    return {**groups, "rounding": {name: ROUNDING[name] for name in names}}


def rounding_group(found: Unrounded, **more: Sequence[Decimal | None]) -> dict[str, dict[str, Column]]:
    """Return `/rounding` as the groups of a kind of answer have it. `more` are its columns of decimals."""
    values: dict[str, Any] = {name: _stored(name, value) for name, value in vars(found).items() if value is not None}
    values |= {name: np.array(["" if one is None else exact_text(one) for one in several], object)
               for name, several in more.items()}
    return {"rounding": columns(ROUNDING, values)}


def _stored(name: str, value: Decimal) -> str | float:
    """Return a value as the dataset of this name has it."""
    return exact_text(value) if ROUNDING[name].types == "text" else upward(value)


def exact_text(value: Decimal) -> str:
    """Return a decimal with all its digits, and no zeros at its end: 0.00012, 100."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def upward(value: Decimal) -> int | float:
    """Return a whole number as an int, and else the smallest float whose shortest decimal form is not below it."""
    if value == value.to_integral_value(context=EXACT):
        return int(value)
    nearest = float(value)
    return nearest if _decimal(nearest) >= value else math.nextafter(nearest, math.inf)


def _decimal(value: Any) -> Decimal:
    """Return a float by its shortest decimal form."""
    return Decimal(repr(float(value)))


def at_most(value: float | Fraction, digits: int = 2) -> str:
    """Return the text of a number of at least 0, rounded up to so many digits."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    exact = value if isinstance(value, Fraction) else Fraction(_decimal(value))
    quotient = Context(prec=digits, rounding=ROUND_CEILING).divide(exact.numerator, exact.denominator)
    return f"{float(quotient):g}".replace("e-0", "e-")


def exactly(text: Any) -> str:
    """Return ` (exactly 3.14159)`, to be put after a rounded cost, given its text or None in `/rounding`."""
    return f" ({_words(Decimal(str(text)))})" if text else ""


def _words(value: Decimal) -> str:
    """Return `exactly 3.14159`, or `about` and 20 digits of a very long decimal."""
    text = exact_text(value)
    short = len(text) <= LONGEST_DECIMAL
    return f"exactly {text}" if short else f"about {Context(prec=20).create_decimal(text)}"


def _range(ascending: Sequence[Decimal]) -> str:
    """Return `exactly 3.1 to 3.25`."""
    return f"{_words(ascending[0])} to {_words(ascending[-1]).removeprefix('exactly ')}"


def downward(value: Decimal) -> int | float:
    """Return a whole number as an int, and else the largest float whose shortest decimal form is not above it."""
    return -upward(value.copy_negate())


@dataclass(frozen=True)
class Worth:
    """What an answer is worth in the numbers before rounding, and what is proven of it there, in words too."""

    contents: Contents

    def was_rounded(self) -> bool:
        """Return whether the costs of the instance were rounded."""
        return self.contents.value("instance", "rounded_to") is not None

    def rounded_to(self) -> str:
        """Return ` for costs rounded to 1e-6`, to be put after what they prove, or `` for exact costs."""
        unit = self.contents.value("instance", "rounded_to")
        return "" if unit is None else f" for costs rounded to {unit_text(decimals_of(float(unit)) or 0)}"

    def cost(self) -> Decimal | None:
        """Return the exact cost of the answer before rounding, or None if it has no cost, or that was not kept."""
        given, cost = self.contents.value("rounding", "cost"), self.contents.value("solution", "cost")
        if given is not None:
            return Decimal(str(given))
        return None if cost is None or self.was_rounded() else own_decimal(int(cost), self.contents.scale)

    def bound(self) -> Decimal | None:
        """Return the proven lower bound on the cost of all answers before rounding.

        None if there is none, or none for all answers: with time windows it may hold only for some tours.
        """
        return None if self.contents.value("rounding", "slack") is not None else self.bound_below(self._proven())

    def bound_below(self, proven: int | None, error: str = "error") -> Decimal | None:
        """Return the lower bound before rounding that follows from one in scaled integers, or None.

        `error` is the dataset of `/rounding` with the error of the cost.
        """
        if proven is None:
            return None
        bound = own_decimal(proven, self.contents.scale)
        if not self.was_rounded():
            return bound
        most = self.contents.value("rounding", error)
        if most is None:
            return None
        digits = len(str(self.contents.scale)) + 1  # two more than the unit
        lower = EXACT.subtract(bound, _decimal(most)).scaleb(digits, EXACT).to_integral_value(ROUND_FLOOR, EXACT)
        lower = lower.scaleb(-digits, EXACT)
        # Weights of graphs are not negative, and neither are bounds on trees.
        return max(lower, Decimal(0)) if self.contents.value("instance", "vertices") is not None else lower

    def is_optimal(self) -> bool:
        """Return whether the answer is proven to be optimal in the rounded costs, of a batch all of it."""
        if self.contents.value("solution", "costs") is not None:
            return bool(np.all(self.contents.value("solution", "proven", True)))
        cost, bound = (self.contents.value("solution", name) for name in ("cost", "lower_bound"))
        return bool(self.contents.value("solution", "optimal", False)) or (cost is not None and bool(cost == bound))

    def error(self) -> float:
        """Return E of `problems.unrounded` in the instance's own unit, 0 if nothing was rounded, NaN if unknown."""
        return float(self.contents.value("rounding", "error", math.nan)) if self.was_rounded() else 0.0

    def _proven(self) -> int | None:
        """Return the proven lower bound in scaled integers, which is the cost of an answer that is proven optimal.

        None of a tour with prizes, which is the best of its prize: tours with less cost less.
        """
        if self.contents.value("solution", "prize") is not None:
            return None
        cost, bound = (self.contents.value("solution", name) for name in ("cost", "lower_bound"))
        best = cost if self.contents.value("solution", "optimal") else bound
        return None if best is None else int(best)

    def bounds(self, what: str = "tour") -> str:
        """Return what is proven of all tours before rounding, where `proven optimal` does not say it, or ``."""
        if not self.was_rounded() and self.is_optimal():
            return ""
        bound, cost, said = self.bound_below(self._proven()), self.cost(), []
        if bound is not None and cost is not None and self.is_time_of_day():
            return f"no {what} ends before {self.time(bound)}, this one ends at {self.time(cost)}"
        if bound is not None:
            gap = ""
            if bound > 0 and cost is not None and self.contents.value("rounding", "slack") is None:
                above = at_most(100 * (Fraction(cost) / Fraction(bound) - 1), 3)
                gap = f", so this {what} is at most {above} % above the optimum"
            said = [f"no {what}{self._which()} is below {exact_text(bound)}{gap}"]
        dearest = self.contents.value("solution", "dearest")
        least = self.bound_below(None if dearest is None else int(dearest), "dearest_error")
        if least is not None and self.was_rounded():
            said.append(f"no {what} has a dearest leg below {exact_text(least)}")
        return ", and ".join(said)

    def is_time_of_day(self) -> bool:
        """Return whether the answer's value is an end that can be told as a time of day."""
        timed = self.contents.keys.get("objective") == "finish"
        return timed and time_unit_of(self.contents) is not None and not self.was_rounded()

    def time(self, value: Decimal) -> str:
        """Return a value that `is_time_of_day` as one, rounded down to the second."""
        unit = time_unit_of(self.contents)
        assert unit is not None
        return clock_text(int(Fraction(value) * UNITS[unit]), "second", 1)

    def _which(self) -> str:
        """Return for which tours something is proven before rounding, `` for all."""
        slack, dearest = (self.contents.value("rounding", name) for name in ("slack", "dearest"))
        if slack is not None:
            return f" that keeps all windows with {at_most(float(slack))} to spare"
        return "" if dearest is None else f" with a dearest leg of up to {dearest}"

    def no_tour_words(self) -> str:
        """Return for which tours it is proven that there is none, `` for all."""
        if self.contents.value("rounding", "slack") is None:
            return ""
        return f"{self.rounded_to()}: there is no tour{self._which()}"

    def late_words(self) -> str:
        """Return that a tour misses a window or exceeds its budget before rounding, or ``."""
        late, budget, cost = self.contents.value("rounding", "late"), self.contents.keys.get("budget"), self.cost()
        said = [] if late is None else [f"is {at_most(float(late))} late for a window"]
        if self.was_rounded() and budget is not None and cost is not None and cost > _decimal(budget):
            said.append(f"exceeds the budget by {at_most(Fraction(cost) - Fraction(_decimal(budget)))}")
        return f"; in the costs before rounding it {' and '.join(said)}" if said else ""

    def best_words(self) -> str:
        """Return the exact costs of the best tours before rounding, and what the others cost at least, or ``."""
        given, best = self.contents.value("rounding", "best_costs"), self.contents.value("solution", "best_costs")
        if given is None:
            return ""
        costs = sorted(map(Decimal, given))
        bound = self.bound_below(int(best[-1]))
        other = "" if bound is None else f"; no other tour{self._which()} is below {exact_text(bound)}"
        return f" ({_range(costs)}{other})"

    def batch_words(self) -> str:
        """Return the range of the exact costs of a batch before rounding, and what is proven of each tour, or ``."""
        given, error = self.contents.value("rounding", "costs"), self.contents.value("rounding", "error")
        costs = sorted(Decimal(text) for text in ([] if given is None else given) if text)
        if not costs:
            return ""
        below = "" if error is None else \
            f"; before rounding, each optimum{self._which()} is at most {at_most(float(error))} less"
        late = self.contents.value("rounding", "late")
        missed = "" if late is None else \
            f"; in the costs before rounding a tour is {at_most(float(late))} late for a window"
        return f" ({_range(costs)}{below}{missed})"

    def arc_words(self) -> str:
        """Return how far the costs of the best tours through arcs may be from those before rounding, or ``."""
        error = self.contents.value("rounding", "error")
        if error is None or self.contents.value("solution", "dearest") is not None:
            return ""
        return f", each at most {at_most(float(error))} away from its value before rounding"

    def tree_bounds(self) -> str:
        """Return what is proven of a tree before rounding: `proven optimal: lower bound 17`."""
        cost, bound, rounded = self.cost(), self.bound(), self.rounded_to()
        optimal = self.is_optimal()
        said = [f"proven optimal{rounded}"] if optimal else []
        if (rounded or not optimal) and cost is not None and bound is not None:
            if bound and optimal:
                said.append(f"at most {at_most(100 * (Fraction(cost) / Fraction(bound) - 1), 3)} % above the optimum")
            elif bound:
                said.append(f"at most {at_most(Fraction(cost) / Fraction(bound), 6)} times the optimum")
        least = [] if bound is None else [f"lower bound {exact_text(bound)}"]
        return ": ".join([*filter(None, [", ".join(said)]), *least])

    def distance_bounds(self) -> str:
        """Return how much smaller distances may be before rounding, or `` if nothing was rounded or is known."""
        error, part = (self.contents.value("rounding", name) for name in ("error", "part"))
        if error is None and part is None:
            return ""
        most = at_most(float(error)) if error is not None else f"{at_most(100 * Fraction(_decimal(part)))} % of it"
        return f"before rounding, each distance is at most {most} smaller"
