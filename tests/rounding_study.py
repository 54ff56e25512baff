"""What is claimed of rounded answers, against brute force in exact fractions: `python -m tests.rounding_study 1000`.

Each instance has random floats of 15 digits or more, rounded so coarsely that answers change. It is solved as a user
would, all answers are enumerated by the definition of their cost, and every claim that the result prints is compared.
The table says for each family of instances how often rounding made the answer worse, the largest loss that it cost in
units of the rounding, what was claimed then, and the least claim over loss. Nothing of `problems.unrounded` is used.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise, permutations
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import hpcsolve
from hpcsolve.answers.rounding import Worth

UNIT = Fraction(1, 10)
NEVER = Fraction(10**9)
HERE = {"device": "cpu", "threads": 1, "round": 0.1}


@dataclass(frozen=True)
class Case:
    """The outcome of one instance: how much better the best answer is, and how much better it was said to be at most.

    Both are exact. `broken` says which claims are false.
    """

    family: str
    loss: Fraction
    claim: Fraction
    broken: tuple[str, ...]


def exact(value: Any) -> Fraction:
    """Return the value of a float by its shortest decimal form, or of a decimal text."""
    return Fraction(repr(float(value))) if isinstance(value, float) else Fraction(str(value))


KINDS = ("near", "places", "ties", "noise")


def random_table(chance: np.random.Generator, n: int, kind: str) -> np.ndarray:
    """Return costs that are so near to each other, or to a tie of the rounding, that it decides.

    "noise": symmetric but for the last digit, on both sides of ties.
    """
    if kind == "places":
        points = chance.random((n, 2)) * 0.5
        return np.hypot(*(points[:, None] - points[None]).T) + 1
    if kind == "near":
        table = chance.uniform(1, 1.5, (n, n))
    else:
        table = chance.choice([1, 1, 1.1, 1.2], (n, n)) + chance.choice([-0.05, 0.05], (n, n))
        table += chance.uniform(-1, 1, (n, n)) * (1e-4 if kind == "ties" else 0)
    if kind == "noise" or chance.random() < 0.5:
        table = np.triu(table) + np.triu(table, 1).T
    return table + chance.choice([0, 2e-16, -2e-16], (n, n)) * (kind == "noise")


@dataclass(frozen=True)
class TourQuestion:
    """A question in the terms of a job, with its exact numbers: costs by leg, weights and windows."""

    path: str
    objective: str
    legs: list[list[list[Fraction]]]
    weights: list[int]
    windows: list[tuple[Fraction, Fraction, Fraction]]

    def value(self, tour: tuple[int, ...]) -> tuple[Fraction, Fraction, Fraction]:
        """Return the cost of a tour, its dearest leg, and how early or late it is at its tightest window (late > 0)."""
        path = [*tour, tour[0]] if self.path == "cycle" else tour
        costs = [self.legs[k][a][b] for k, (a, b) in enumerate(pairwise(path))]
        dearest, late = max(costs), -NEVER
        if self.objective == "latency":
            arrivals = [sum(costs[: k + 1], Fraction(0)) for k in range(len(costs))]
            return sum(self.weights[c] * at for c, at in zip(path[1:], arrivals)), dearest, late
        if self.objective == "position":
            return sum((w * c for w, c in zip(self.weights, costs)), Fraction(0)), dearest, late
        if self.objective == "bottleneck":
            return dearest, dearest, late
        if self.objective != "finish":
            return sum(costs, Fraction(0)), dearest, late
        time = Fraction(0)
        for place, city in enumerate(path):
            earliest, latest, service = self.windows[city]
            time += costs[place - 1] if place else 0
            back = place == len(tour)
            time = time if back else max(time, earliest)
            late = max(late, time - latest)
            time += 0 if back else service
        return time, dearest, late


def tour_case(seed: int, objective: str) -> Case:
    """Return the outcome of a random instance with an objective of held-karp."""
    chance = np.random.default_rng([seed, len(objective)])
    path = str(chance.choice(["cycle", "open"]))
    n = int(chance.integers(4, 7)) if seed % 8 else 7 + (path == "cycle") * (1 + (seed % 64 == 0))
    table = random_table(chance, n, str(chance.choice(KINDS)))
    count = n if path == "cycle" else n - 1
    keys: dict[str, Any] = {"path": path, "objective": objective}
    ends = chance.random() < 0.3
    if ends:
        keys["start"] = int(chance.integers(n))
    weights = chance.integers(0, 6, n).tolist()
    if objective == "latency" and seed % 3:
        keys["weights"] = weights
    elif objective == "latency":
        weights = [1] * n
    if objective == "position":
        keys["weights"] = weights = weights[:count]
    windows = [(Fraction(0), NEVER, Fraction(0))] * n
    with tempfile.TemporaryDirectory() as folder:
        if objective == "finish":
            windows = _windows(chance, n, Path(folder) / "windows.csv", whole=seed % 4 == 0)
            keys["windows"] = Path(folder) / "windows.csv"
        else:
            keys |= {"best": 3, "count": True, "arcs": True}
        result = hpcsolve.solve(table, "held-karp", **keys, **HERE)
    question = TourQuestion(path, objective, [[[exact(x) for x in row] for row in table.tolist()]] * count, weights,
                            windows)
    first = keys.get("start", 0 if path == "cycle" else None)
    tours = [tour for tour in permutations(range(n)) if first is None or tour[0] == first]
    return _judged(objective, result, {tour: question.value(tour) for tour in tours}, path)


def _windows(chance: np.random.Generator, n: int, path: Path, whole: bool) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Write random windows, which never end if `whole`, and return them."""
    found = []
    with path.open("w") as stream:
        rows = csv.writer(stream)
        rows.writerow(["city", "earliest", "latest", "service"])
        for city in range(n):
            begin, service = int(chance.integers(0, 8 * n)), int(chance.integers(0, 3))
            end = None if whole else begin + int(chance.integers(10, 12 * n))
            rows.writerow([city, begin / 10, "" if end is None else end / 10, service / 10])
            found.append((begin * UNIT, NEVER if end is None else end * UNIT, service * UNIT))
    return found


def _judged(family: str, result: Any, values: dict[tuple[int, ...], tuple[Fraction, Fraction, Fraction]],
            path: str) -> Case:
    """Return the outcome of a tour, given cost, dearest leg and lateness of all tours by the exact numbers."""
    contents, broken, lexicographic = result.contents, [], family == "lexicographic"
    told = {name: None if (text := contents.value("rounding", name)) is None else exact(text)
            for name in ("error", "dearest_error", "slack", "late")}
    slack = told["slack"] or Fraction(0)
    if result.infeasible:
        kept = [value for value, _, late in values.values() if late <= -slack]
        return Case(family, Fraction(0), slack, ("there is a tour",) if kept else ())
    own, dearest, late = values[tuple(result.tour.tolist())]
    if own != exact(result.exact_cost):
        broken.append("exact cost")
    if max(late, Fraction(0)) != (told["late"] or 0):
        broken.append("late")
    if told["error"] is None:
        return Case(family, Fraction(0), Fraction(0), (*broken, *([] if lexicographic else ["no claim"])))
    among = {tour: value for tour, (value, other, when) in values.items()
             if when <= (0 if told["slack"] is None else -slack) and (not lexicographic or other <= dearest)}
    stated = Fraction(int(contents.value("solution", "cost")), contents.scale) - told["error"]
    if any(value < stated for value in among.values()):
        broken.append("bound")
    if (printed := Worth(contents).bound()) is not None and any(value < exact(printed) for value in among.values()):
        broken.append("printed bound")
    if lexicographic:
        broken += _dearest_broken(result, told["dearest_error"], dearest, values)
    elif result.contents.value("solution", "arc_costs") is not None:
        broken += _arcs_broken(result, told["error"], values, path)
    broken += _best_broken(result, told["error"], among, values)
    best = min(among.values(), default=own)
    if lexicographic:
        least = min(other for _, other, _ in values.values())
        best = min(value for value, other, _ in values.values() if other == least)
    return Case(family, own - best, own - stated, tuple(broken))


def _dearest_broken(result: Any, error: Fraction | None, dearest: Fraction,
                    values: dict[tuple[int, ...], tuple[Fraction, Fraction, Fraction]]) -> Iterator[str]:
    contents = result.contents
    if exact(contents.value("rounding", "dearest")) != dearest:
        yield "exact dearest leg"
    stated = Fraction(int(contents.value("solution", "dearest")), contents.scale)
    if error is None or min(other for _, other, _ in values.values()) < stated - error:
        yield "dearest leg"


def _best_broken(result: Any, error: Fraction, among: dict[tuple[int, ...], Fraction],
                 values: dict[tuple[int, ...], tuple[Fraction, Fraction, Fraction]]) -> Iterator[str]:
    stored = result.contents.value("solution", "best_costs")
    if stored is None:
        return
    listed = [tuple(tour) for tour in result.best_tours.tolist()]
    texts = result.contents.value("rounding", "best_costs")
    if [exact(str(text)) for text in texts] != [values[tour][0] for tour in listed]:
        yield "exact costs of the best"
    last = Fraction(int(stored[-1]), result.contents.scale)
    if any(value < last - error for tour, value in among.items() if tour not in listed):
        yield "another tour is better than the best"


def _arcs_broken(result: Any, error: Fraction, values: dict[tuple[int, ...], tuple[Fraction, Fraction, Fraction]],
                 path: str) -> Iterator[str]:
    columns = [result.contents.value("solution", f"arc_{name}").tolist() for name in ("tails", "heads", "costs")]
    for tail, head, cost in zip(*columns):
        through = [value for tour, (value, _, _) in values.items()
                   if (tail, head) in pairwise([*tour, tour[0]] if path == "cycle" else tour)]
        if abs(min(through) - Fraction(cost, result.contents.scale)) > error:
            yield "an arc"
            return


def leg_case(seed: int) -> Case:
    """Return the outcome of costs by leg from a file, which are not rounded whatever happens to the instance's."""
    chance = np.random.default_rng([seed, 77])
    n = int(chance.integers(4, 7))
    legs = np.rint(chance.uniform(1, 12, (n, n, n)) * 10) / 10
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "legs.npy", legs)
        keys = {"objective": "position", "costs": Path(folder) / "legs.npy", "best": 2}
        result = hpcsolve.solve(random_table(chance, n, str(chance.choice(KINDS))), "held-karp", **keys, **HERE)
    numbers = [[[exact(x) for x in row] for row in table] for table in legs.tolist()]
    question = TourQuestion("cycle", "sum", numbers, [], [])
    tours = [tour for tour in permutations(range(n)) if tour[0] == 0]
    return _judged("position by file", result, {tour: question.value(tour) for tour in tours}, "cycle")


def batch_case(seed: int) -> Case:
    """Return the outcome of a batch, with the largest loss of its instances."""
    chance = np.random.default_rng([seed, 78])
    n, path = int(chance.integers(4, 7)), str(chance.choice(["cycle", "open"]))
    tables = np.stack([random_table(chance, n, str(chance.choice(KINDS))) for _ in range(3)])
    result = hpcsolve.solve(tables, "held-karp", path=path, **HERE)
    broken, losses, error = [], [], exact(result.contents.value("rounding", "error"))
    texts = result.contents.value("rounding", "costs")
    for number, table in enumerate(tables.tolist()):
        numbers = [[[exact(x) for x in row] for row in table]] * n
        question = TourQuestion(path, "sum", numbers, [], [])
        values = {tour: question.value(tour)[0] for tour in permutations(range(n)) if path == "open" or tour[0] == 0}
        tour = result.contents.value("solution", "tours")[number * n : (number + 1) * n].tolist()
        stated = Fraction(int(result.contents.value("solution", "costs")[number]), result.contents.scale)
        if exact(str(texts[number])) != values[tuple(tour)]:
            broken.append("exact cost")
        if min(values.values()) < stated - error:
            broken.append("bound")
        losses.append((values[tuple(tour)] - min(values.values()), values[tuple(tour)] - stated + error))
    loss, claim = max(losses)
    return Case("batch", loss, claim, tuple(broken))


def random_graph(chance: np.random.Generator) -> nx.Graph:
    """Return a connected graph of 5 to 8 vertices: edges near to ties, or short and long ones, some rounded to 0."""
    n, near = int(chance.integers(5, 9)), chance.random() < 0.4
    graph = nx.path_graph(n)
    graph.add_edges_from(pair for pair in combinations(range(n), 2) if chance.random() < 0.4)
    for a, b in graph.edges:
        short = chance.uniform(0.001, 0.4) if chance.random() < 0.5 else chance.uniform(0.4, 3)
        tie = chance.choice([0.3, 0.6]) + chance.choice([-0.0499, 0.0499]) + chance.uniform(0, 1e-5)
        graph.edges[a, b]["weight"] = float(tie if near else short)
    graph.edges[0, 1]["weight"] += 1.0  # round refuses graphs that have no edge of ten units
    return graph


def lightest_tree(graph: nx.Graph, terminals: list[int]) -> Fraction:
    """Return the weight of the lightest tree: the least minimum spanning tree of any set of vertices."""
    others, best = [v for v in graph if v not in terminals], NEVER
    for size in range(len(others) + 1):
        for chosen in combinations(others, size):
            part = graph.subgraph([*terminals, *chosen])
            if nx.is_connected(part):
                edges = nx.minimum_spanning_edges(part, weight="exact", data=True)
                best = min(best, sum((data["exact"] for _, _, data in edges), Fraction(0)))
    return best


def tree_case(seed: int, mode: str) -> Case:
    """Return the outcome of a Steiner tree in one of the modes."""
    chance = np.random.default_rng([seed, 79])
    graph = random_graph(chance)
    for a, b in graph.edges:
        graph.edges[a, b]["exact"] = exact(graph.edges[a, b]["weight"])
    terminals = chance.permutation(len(graph))[: int(chance.integers(2, 5))].tolist()
    result = hpcsolve.solve(graph, "steiner-kmb", terminals=terminals, mode=mode, **HERE)
    own = sum((graph.edges[a, b]["exact"] for a, b in result.tree), Fraction(0))
    best = lightest_tree(graph, terminals)
    broken = [] if own == exact(result.exact_cost) else ["exact cost"]
    stated = Fraction(int(result.contents.value("solution", "lower_bound")), result.contents.scale)
    stated -= exact(result.contents.value("rounding", "error"))
    printed = Worth(result.contents).bound()
    if best < stated or printed is None or best < exact(printed) or best < exact(float(result.lower_bound)):
        broken.append("bound")
    return Case(f"tree, {mode}", own - best, own - stated, tuple(broken))


def path_case(seed: int, kind: str) -> Case:
    """Return the outcome of shortest paths: queries, a table, distances within a cutoff, or what is kept of rows."""
    chance = np.random.default_rng([seed, 80])
    graph = random_graph(chance)
    if seed % 2:
        graph = graph.to_directed()
        for a, b in graph.edges:
            graph.edges[a, b]["weight"] *= float(chance.uniform(0.8, 1.2))
    n, distance = len(graph), {(a, b): Fraction(0) if a == b else NEVER for a in graph for b in graph}
    for a, b, data in graph.edges(data=True):
        ends = [(a, b)] if graph.is_directed() else [(a, b), (b, a)]
        for end in ends:
            distance[end] = exact(data["weight"])
    for middle in graph:
        for a, b in distance:
            distance[a, b] = min(distance[a, b], distance[a, middle] + distance[middle, b])
    pairs = [(0, n - 1), (1, 2), (n - 1, 1)]
    keys = {"queries": {"queries": [list(pair) for pair in pairs]}, "table": {"sources": [0, 1]},
            "cutoff": {"sources": [0, 1], "cutoff": 1.5}, "farthest": {"sources": "all", "reduce": ["farthest"]}}[kind]
    result = hpcsolve.solve(graph, "shortest-paths", **keys, **HERE)
    found, broken = result.contents.value("solution", "distance"), []
    claims: list[tuple[Fraction, Fraction]] = []
    told = exact(result.contents.value("rounding", "error"))
    if kind == "queries":
        for number, pair in enumerate(pairs):
            steps = pairwise(result.path(number))
            length = sum((exact(graph.edges[step]["weight"]) for step in steps), Fraction(0))
            if exact(str(result.contents.value("rounding", "distance")[number])) != length:
                broken.append("exact length")
            claims.append((distance[pair], Fraction(int(found[number]), 10)))
    elif kind == "farthest":
        far = result.contents.value("solution", "farthest_distance").tolist()
        claims = [(max(distance[a, b] for b in graph), Fraction(far[a], 10)) for a in graph]
    else:
        none = int(np.iinfo(found.dtype).max)  # stands for what is farther than the cutoff, of 15 units
        for a, row in enumerate(found.tolist()):
            claims += [(distance[a, b], Fraction(15 if d == none else d, 10)) for b, d in enumerate(row)]
    losses = [stated - right for right, stated in claims]
    if max(losses) > told:
        broken.append("distance")
    return Case(f"paths, {kind}", max(Fraction(0), *losses), told, tuple(broken))


OBJECTIVES = ("sum", "latency", "position", "bottleneck", "lexicographic", "finish")
FAMILIES: dict[str, Callable[[int], Case]] = {
    **{name: lambda seed, name=name: tour_case(seed, name) for name in OBJECTIVES},
    "position by file": leg_case, "batch": batch_case,
    **{f"tree, {mode}": lambda seed, mode=mode: tree_case(seed, mode) for mode in ("kmb", "best", "exact")},
    **{f"paths, {kind}": lambda seed, kind=kind: path_case(seed, kind)
       for kind in ("queries", "table", "cutoff", "farthest")},
}
"""Name of a family -> a function that solves and judges the instance with a number."""


def table(cases: list[Case]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| family | instances | worse by rounding | largest loss | claim then | least claim / loss | claims broken |"
    yield "|---|---|---|---|---|---|---|"
    for family in dict.fromkeys(case.family for case in cases):
        own = [case for case in cases if case.family == family]
        worst = max(own, key=lambda case: case.loss)
        ratios = [case.claim / case.loss for case in own if case.loss > 0]
        least = f"{float(min(ratios)):.3g}" if ratios else "-"
        yield (f"| {family} | {len(own)} | {len(ratios)} | {float(worst.loss / UNIT):.2f} | "
               f"{float(worst.claim / UNIT):.2f} | {least} | {sum(bool(case.broken) for case in own)} |")


def main() -> int:
    """Print the table of so many instances, and return 1 if a claim is broken."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 130
    names = list(FAMILIES)
    cases = [FAMILIES[names[number % len(names)]](number) for number in range(count)]
    print("\n".join(table(cases)))
    for number, case in enumerate(cases):
        if case.broken:
            print(f"instance {number}: {case.family}: {', '.join(case.broken)}")
    return int(any(case.broken for case in cases))


if __name__ == "__main__":
    sys.exit(main())
