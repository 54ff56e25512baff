"""Statistics and pictures of the runs of a sweep, each a short function on the table that `hpcsolve.collect` returns.

`by` names the columns whose values divide the runs into groups. Runs without a value (no cost, no gap) do not count.
Pictures are drawn with matplotlib (extra `plot`): a box plot by group, and scaling with a fitted law.
`scipy.stats` takes longer to import than all else that a command needs, so who uses it imports it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from hpcsolve.analysis.collect import Table, table_of
from hpcsolve.analysis.plot.canvas import BLUE, SERIES, VERMILION, axes_for
from hpcsolve.errors import InputError
from hpcsolve.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

By = str | Sequence[str]
Law = Literal["power", "exponential"]
LAWS = ("power", "exponential")
UNITS = {"seconds": "seconds", "seconds_kernel": "seconds in kernels", "bytes": "bytes", "bytes_resident": "bytes"}
POINTS_ON_A_LINE = 200


@dataclass(frozen=True)
class Group:
    """The runs that share a value in each column of `by`, with those values."""

    key: dict[str, Any]
    runs: Table

    @property
    def label(self) -> str:
        """The values in words, `20, open`, for legends and tables."""
        return ", ".join(map(str, self.key.values()))

    def numbers(self, column: str) -> NDArray[np.float64]:
        """Return the numbers of a column, NaN where a run has no value.

        Raises
        ------
        InputError
            The column is missing, or has values that are not numbers.
        """
        values = self.runs[column].tolist()
        for value in values:
            if not isinstance(value, (int, float, type(None))):
                raise InputError(f"the column {column} has values that are not numbers, such as {value!r}")
        return np.array([np.nan if value is None else float(value) for value in values])

    def values(self, column: str) -> NDArray[np.float64]:
        """Return the numbers of a column, shape (runs with a value,). Raises as `numbers`."""
        numbers = self.numbers(column)
        return numbers[~np.isnan(numbers)]

    def points(self, column: str, against: str, law: Law) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the points of a group that have both values, x and y. Raises as `scaling`."""
        if law not in LAWS:
            raise InputError(f"there is no law {law!r}; there are {' and '.join(LAWS)}")
        x, y = (self.numbers(name) for name in (against, column))
        known = ~(np.isnan(x) | np.isnan(y))
        x, y = x[known], y[known]
        for name, values in ((column, y), (against, x)):
            if (values <= 0).any() and (law == "power" or name == column):
                raise InputError(f"{name} must be positive to be fitted; one value is {values.min():g}")
        if len(x) < 3 or len(np.unique(x)) < 2:
            whose = f"{self.label}: " if self.key else ""
            what = f"a fit of {column} against {against} needs at least three points and two values of {against}"
            have = f"{counted(len(x), 'point')} and {counted(len(np.unique(x)), 'value')}"
            raise InputError(f"{whose}{what}; there are {have}")
        return x, y


def groups(runs: Table, by: By = ()) -> list[Group]:
    """Return the groups of runs, in the order of their values. Without `by` all runs are one group.

    Raises
    ------
    InputError
        A column is missing.
    """

    def in_order(key: tuple[Any, ...]) -> list[tuple[bool, Any]]:
        """Return a sort key that puts numbers before texts and missing values."""
        numbers = [isinstance(value, (int, float)) for value in key]
        return [(not number, value if number else str(value)) for number, value in zip(numbers, key)]

    names = [by] if isinstance(by, str) else list(by)
    found: dict[tuple[Any, ...], list[Any]] = {}
    for row, *key in zip(runs.rows, *(runs[name].tolist() for name in names)):
        found.setdefault(tuple(key), []).append(row)
    return [Group(dict(zip(names, key)), Table(tuple(found[key]))) for key in sorted(found, key=in_order)]


def summary(runs: Table, column: str = "cost", by: By = (), confidence: float = 0.95) -> Table:
    """Return mean and spread of a column for each group.

    Parameters
    ----------
    confidence
        Level of the confidence interval of the mean, `low` to `high`, which is Student's t interval.

    Returns
    -------
    Table
        The columns of `by`, then `runs`, `mean`, `deviation` (sample standard deviation), `low`, `high`, `minimum`,
        `median`, `maximum`. A single run has no deviation and no interval.
    """
    return table_of(group.key | _moments(group.values(column), confidence) for group in groups(runs, by))


def _moments(values: NDArray[np.float64], confidence: float) -> dict[str, Any]:
    from scipy import stats

    count = len(values)
    if not count:
        return {"runs": 0}
    mean, deviation = float(values.mean()), float(values.std(ddof=1)) if count > 1 else None
    half = None if deviation is None else float(stats.t.ppf((1 + confidence) / 2, count - 1)) * deviation / count**0.5
    return {
        "runs": count, "mean": mean, "deviation": deviation,
        "low": None if half is None else mean - half, "high": None if half is None else mean + half,
        "minimum": float(values.min()), "median": float(np.median(values)), "maximum": float(values.max()),
    }


def compare(runs: Table, column: str = "cost", by: By = ()) -> Table:
    """Compare each pair of groups by the Mann-Whitney U test, which asks whether one tends to have smaller values.

    Returns
    -------
    Table
        A row for each pair of groups `a` and `b`: their medians, `u` (of `a`), `smaller` (the probability that a value
        of `a` is below one of `b`, ties half), `p` (two-sided), `p_holm` (by Holm's correction for all pairs).

    Raises
    ------
    InputError
        There are fewer than two groups with values.
    """
    from scipy import stats

    found = [(group.label, group.values(column)) for group in groups(runs, by)]
    found = [(label, values) for label, values in found if len(values)]
    if len(found) < 2:
        raise InputError(f"a comparison needs two groups with values of {column}; by={by!r} gives {len(found)}")
    rows: list[dict[str, Any]] = []
    for (a, of_a), (b, of_b) in itertools.combinations(found, 2):
        test = stats.mannwhitneyu(of_a, of_b, alternative="two-sided")
        u = float(test.statistic)
        rows.append({
            "a": a, "b": b, "median_a": float(np.median(of_a)), "median_b": float(np.median(of_b)), "u": u,
            "smaller": 1 - u / (len(of_a) * len(of_b)), "p": float(test.pvalue),
        })
    return table_of({**row, "p_holm": p} for row, p in zip(rows, _holm([row["p"] for row in rows])))


def _holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values that hold for all tests together: the k-th smallest of m is multiplied by m + 1 - k."""
    count, adjusted, largest = len(p_values), [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(count), key=lambda place: p_values[place])):
        largest = max(largest, min(1.0, (count - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


@dataclass(frozen=True)
class Fit:
    """A law fitted to points: `factor * x ** growth` (power) or `factor * growth ** x` (exponential).

    `low` and `high` bound the growth, as Student's t interval of the slope does.
    """

    law: Law
    points: int
    factor: float
    growth: float
    low: float
    high: float
    r_squared: float

    def at(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the law's value at each x, shape as x."""
        return self.factor * (x**self.growth if self.law == "power" else self.growth**x)


def scaling(
    runs: Table, column: str = "seconds", against: str = "n", by: By = (), law: Law = "power", confidence: float = 0.95
) -> Table:
    """Fit how a column grows with another one, for each group: time with n, or with the number of ranks.

    Parameters
    ----------
    law
        "power": column = factor * against ** growth, a straight line with logarithmic axes. "exponential":
        column = factor * growth ** against, where Held-Karp has a growth slightly above 2.
    confidence
        Level of the interval of the growth, `low` to `high`.

    Returns
    -------
    Table
        The columns of `by`, then `law`, `points`, `factor`, `growth`, `low`, `high`, `r_squared` (of the logarithms).

    Raises
    ------
    InputError
        A column is missing, a value is not positive, or a group has fewer than three points or two sizes.
    """
    fits = ((group, fit(*group.points(column, against, law), law, confidence)) for group in groups(runs, by))
    return table_of(group.key | vars(found) for group, found in fits)


def fit(x: NDArray[np.float64], y: NDArray[np.float64], law: Law = "power", confidence: float = 0.95) -> Fit:
    """Return the law fitted to points by least squares on the logarithms of y. x and y have shape (points,)."""
    from scipy import stats

    line = stats.linregress(np.log(x) if law == "power" else x, np.log(y))
    half = float(stats.t.ppf((1 + confidence) / 2, len(x) - 2)) * float(line.stderr)
    slopes = np.array([line.slope, line.slope - half, line.slope + half])
    growth, low, high = (slopes if law == "power" else np.exp(slopes)).tolist()
    return Fit(law, len(x), float(np.exp(line.intercept)), growth, low, high, float(line.rvalue) ** 2)


def plot_box(runs: Table, column: str = "cost", by: By = (), axes: Axes | None = None) -> Axes:
    """Draw a box for each group of runs: quartiles, median, whiskers, and every run as a dot.

    Whiskers reach at most 1.5 interquartile ranges beyond the box.

    Parameters
    ----------
    column
        What is drawn, such as `cost`, `gap` or `seconds`.
    by
        Columns whose values divide the runs into groups.
    axes
        Where to draw; by default a new figure of pyplot.

    Raises
    ------
    InputError
        A column is missing or has no numbers.
    EnvironmentFault
        matplotlib is not installed.
    """
    axes = axes_for(axes)
    found = [(group.label or "all runs", group.values(column)) for group in groups(runs, by)]
    found = [(label, values) for label, values in found if len(values)]
    if not found:
        raise InputError(f"no run has a value of {column}")
    places = range(1, len(found) + 1)
    axes.boxplot([values for _, values in found], positions=places, widths=0.5, showfliers=False,
                 medianprops={"color": VERMILION})
    for place, (_, values) in zip(places, found):
        beside = np.linspace(-0.12, 0.12, len(values)) if len(values) > 1 else np.zeros(1)  # keeps dots apart
        axes.plot(place + beside, values, "o", color=BLUE, markersize=3, alpha=0.6)
    crowded = sum(len(label) for label, _ in found) > 60
    axes.set_xticks(list(places), [label for label, _ in found], rotation=30 if crowded else 0,
                    ha="right" if crowded else "center")
    axes.set(xlabel=by if isinstance(by, str) else ", ".join(by), ylabel=UNITS.get(column, column))
    axes.grid(axis="y", alpha=0.3)
    return axes


def plot_scaling(
    runs: Table, column: str = "seconds", against: str = "n", by: By = (), axes: Axes | None = None, *,
    law: Law = "power",
) -> Axes:
    """Draw how a column grows with another one: a dot for each run, and for each group the fitted law as a line.

    Parameters
    ----------
    column, against
        What is drawn, and along which axis: `seconds` against `n`, or against `ranks`.
    by
        Columns whose values divide the runs into groups, each with a colour.
    axes
        Where to draw; by default a new figure of pyplot.
    law
        As in `hpcsolve.analysis.statistics.scaling`: "power" has two logarithmic axes, "exponential" one.

    Raises
    ------
    InputError
        As in `hpcsolve.analysis.statistics.scaling`.
    EnvironmentFault
        matplotlib is not installed.
    """
    axes = axes_for(axes)
    for number, group in enumerate(groups(runs, by)):
        x, y = group.points(column, against, law)
        found, colour = fit(x, y, law), SERIES[number % len(SERIES)]
        space = np.geomspace if law == "power" else np.linspace
        along = space(x.min(), x.max(), POINTS_ON_A_LINE)
        growth = f"∝ {against}^{found.growth:.2f}" if law == "power" else f"∝ {found.growth:.2f}^{against}"
        axes.plot(x, y, "o", color=colour, markersize=4, alpha=0.7)
        axes.plot(along, found.at(along), "-", color=colour, linewidth=1, label=f"{group.label} {growth}".strip())
    axes.set_yscale("log")
    if law == "power":
        axes.set_xscale("log")
    axes.set(xlabel=against, ylabel=UNITS.get(column, column))
    axes.legend(frameon=False)
    axes.grid(which="both", alpha=0.2)
    return axes
