"""The part of `hpcsolve.Result` about tours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.edges import shown_names

if TYPE_CHECKING:
    from hpcsolve.output.contents import Contents


class TourMixin:
    """The part of `hpcsolve.Result` about a tour."""

    contents: Contents

    @property
    def tour(self) -> NDArray[np.int32]:
        """The tour, shape (n,): positions of the cities from 0 in order, or empty if there is no tour."""
        return np.asarray(self.contents.value("solution", "tour", []), dtype=np.int32)

    @property
    def tour_labels(self) -> list[Any]:
        """The cities in order, by name, or by their numbers in the instance's file."""
        in_order: list[Any] = shown_names(self.contents)[self.tour].tolist()
        return in_order

    @property
    def optimal_tours(self) -> int | None:
        """The number of optimal tours, or None if the job did not ask for it (`count`)."""
        count = self.contents.value("solution", "optimal_tours")
        return None if count is None else int(count)

    @property
    def best_tours(self) -> NDArray[np.int32]:
        """The best tours, shape (k, n), the best first: `tour` alone if the job did not ask for several (`best`)."""
        several = np.asarray(self.contents.value("solution", "best_tours", self.tour), np.int32)
        return several.reshape(-1, len(self.tour)) if len(self.tour) else several.reshape(0, 0)

    @property
    def best_costs(self) -> NDArray[Any]:
        """The costs of `best_tours`, shape (k,)."""
        if self.contents.value("solution", "best_costs") is None:
            return np.array([self.contents.attributes["cost"]][:len(self.best_tours)])
        return np.asarray(self.contents.own("solution", "best_costs"))

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that no tour exists."""
        return bool(self.contents.value("solution", "infeasible", False))
