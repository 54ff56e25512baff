"""The part of `hpcsolve.Result` about tours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.base import AnswerMixin, only_of
from hpcsolve.answers.edges import shown_names


class TourMixin(AnswerMixin):
    """The part of `hpcsolve.Result` about a tour."""

    @property
    @only_of("tour")
    def tour(self) -> NDArray[np.int32]:
        """The tour, shape (n,): positions of the cities from 0 in order, or empty if there is no tour."""
        return np.asarray(self.contents.value("solution", "tour", []), dtype=np.int32)

    @property
    @only_of("tour")
    def tour_labels(self) -> list[Any]:
        """The cities in order, by name, or by their numbers in the instance's file."""
        in_order: list[Any] = shown_names(self.contents)[self.tour].tolist()
        return in_order

    @property
    @only_of("tour")
    def optimal_tours(self) -> int | None:
        """The number of optimal tours, or None if the job did not ask for it (`count`)."""
        count = self.contents.value("solution", "optimal_tours")
        return None if count is None else int(count)

    @property
    @only_of("tour")
    def best_tours(self) -> NDArray[np.int32]:
        """The best tours, shape (k, n), the best first: `tour` alone if the job did not ask for several (`best`)."""
        several = np.asarray(self.contents.value("solution", "best_tours", self.tour), np.int32)
        return several.reshape(-1, len(self.tour)) if len(self.tour) else several.reshape(0, 0)

    @property
    @only_of("tour")
    def best_costs(self) -> NDArray[Any]:
        """The costs of `best_tours`, shape (k,)."""
        if self.contents.value("solution", "best_costs") is None:
            return np.array([self.contents.attributes["cost"]][:len(self.best_tours)])
        return np.asarray(self.contents.own("solution", "best_costs"))

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that no tour exists."""
        return bool(self.contents.value("solution", "infeasible", False))
