"""Steiner trees do not depend on ranks, engines or the order of a file. Small problems and bad files."""

from functools import partial
from itertools import cycle
from typing import get_args, get_type_hints

import numpy as np
import pytest

import hpcsolve as package
from hpcsolve.algorithms.steiner_kmb import Parameters
from hpcsolve.problems.generate.graph import power_law_steiner
from hpcsolve.problems.graph import from_edges
from tests.cli.lines import error_line
from tests.cli.stored import solution
from tests.cli.wrong_solver import require_found_out

KEYS = {"n": 150, "edges": 450, "terminals": 25, "low": 0, "high": 4}
"""Keys of a graph with many paths of equal length, and edges of weight 0."""
TIES = 'generate = "power-law-steiner", ' + ", ".join(f"{key} = {value}" for key, value in KEYS.items())
JOB = 'algorithm = "steiner-kmb"\ninstance = {}\noutput = "out.h5"\n'
MODES = ("fast", "kmb", "best")
ENGINES = get_args(get_type_hints(Parameters)["engine"])
SQUARE = ((1, 2, 3), (2, 3, 1), (3, 4, 2), (4, 1, 5))


def steinlib(n, edges, terminals, key="E"):
    """Return the text of a SteinLib file. Vertices are numbered from 1."""
    return "\n".join([
        "33D32945 STP File, STP Format Version 1.0", "SECTION Graph", f"Nodes {n}", f"Edges {len(edges)}",
        *(f"{key} {a} {b} {weight}" for a, b, weight in edges), "END",
        "SECTION Terminals", f"Terminals {len(terminals)}", *(f"T {vertex}" for vertex in terminals), "END", "EOF\n",
    ])


def trials(mode):
    """Yield numbers of ranks and options of runs that cover every engine."""
    ranks = cycle((2, 3, 4, 1))
    engines = {"fast": ENGINES[:1] * 3, "kmb": ENGINES, "best": ENGINES[:1] * 3}[mode]
    halts = cycle(("bottleneck", "terminals"))
    for engine, count in zip(engines, ranks):
        yield count, (f"steiner-kmb.engine={engine}", f"steiner-kmb.halt={next(halts)}")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.slow
def test_the_tree_is_the_same_for_any_ranks_and_engine(mode, tmp_path, mpiexec, test_device):
    (tmp_path / "job.toml").write_text(JOB.format(f"{{ {TIES} }}"))
    found = {}
    for ranks, settings in [(1, ()), *trials(mode)]:
        settings = (f"steiner-kmb.mode={mode}", "share-gpu=true", *settings)
        more = [word for setting in settings for word in ("--set", setting)]
        more += ["--device", test_device, "--overwrite"]
        done = mpiexec(ranks, "run", "job.toml", *more, cwd=tmp_path, timeout=200)
        assert done.returncode == 0, done.stdout + done.stderr
        found[ranks, settings] = solution(tmp_path / "out.h5")
    first = next(iter(found.values()))
    assert all(other == first for other in found.values()), [key for key in found if found[key] != first]


def mixed(graph, rng, names):
    """Return the text of a graph's file with other names of vertices, and edges in another order and direction."""
    once = rng.permutation(np.flatnonzero(graph.tails() < graph.heads))
    ends = names[np.stack([graph.tails()[once], graph.heads[once]])]
    ends = np.where(rng.random(len(once)) < 0.5, ends, ends[::-1])
    return steinlib(graph.n, list(zip(*ends, graph.weights[once])), rng.permutation(names[graph.terminals]))


@pytest.mark.parametrize("mode", MODES)
def test_the_order_of_the_file_makes_no_difference(mode, tmp_path, test_device):
    graph, rng = power_law_steiner(**KEYS), np.random.default_rng(3)
    solve = partial(package.solve, algorithm="steiner-kmb", device=test_device, mode=mode)
    first, path, own = solve(graph), tmp_path / "mixed.stp", np.arange(1, graph.n + 1)
    ends = zip((graph.tails() + 1).tolist(), (graph.heads + 1).tolist())
    weights = dict(zip(ends, graph.weights.tolist()))
    for _ in range(3):
        path.write_text(mixed(graph, rng, own))
        again = solve(path)
        assert (again.tree, again.cost, again.lower_bound) == (first.tree, first.cost, first.lower_bound)
        names = rng.permutation(own)
        path.write_text(mixed(graph, rng, names))
        renamed = solve(path)
        for name in ("closure_mst", "closure_bottleneck"):
            assert renamed.contents.value("solution", name) == first.contents.value("solution", name)
        back = dict(zip(names.tolist(), own.tolist()))
        assert sum(weights[back[a], back[b]] for a, b in renamed.tree) == renamed.cost


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("terminals", "tree"), [
    ([3], []),
    ([1, 4], [(1, 4)]),
    ([1, 3], [(1, 2), (2, 3)]),
    ([4, 1, 3, 2], [(1, 2), (2, 3), (3, 4)]),
])
def test_one_two_and_all_vertices_are_terminals(terminals, tree, mode, tmp_path, test_device):
    (tmp_path / "g.stp").write_text(steinlib(4, SQUARE, terminals))
    found = package.solve(tmp_path / "g.stp", "steiner-kmb", device=test_device, mode=mode)
    weights = {(min(a, b), max(a, b)): weight for a, b, weight in SQUARE}
    assert (found.tree, found.cost) == (tree, sum(weights[edge] for edge in tree))
    assert found.verified and found.optimal and found.lower_bound == found.cost


@pytest.mark.parametrize(("text", "message"), [
    (steinlib(4, [*SQUARE, (1, 3, -1)], [1, 3]), "g.stp:9: "),
    (steinlib(4, [*SQUARE, (1, 3, "nan")], [1, 3]), "g.stp:9: "),
    (steinlib(4, [*SQUARE, (1, 3, 2**64)], [1, 3]), "g.stp:9: "),
    (steinlib(4, SQUARE, [1, 3], key="A"), "g.stp:5: "),
    (steinlib(4, SQUARE, []), "g.stp:11: there are no terminals"),
    (steinlib(4, SQUARE, [1, 5]), "g.stp:13: "),
    (steinlib(4, SQUARE[0::2], [4, 2, 1]),
     "2 components: one of 2 vertices with terminal 4; one of 2 vertices with terminals 2, 1"),
])
def test_bad_files_are_one_line(text, message, tmp_path, hpcsolve, test_device):
    (tmp_path / "g.stp").write_text(text)
    (tmp_path / "job.toml").write_text(JOB.format('"g.stp"'))
    done = hpcsolve("run", "job.toml", "--device", test_device, cwd=tmp_path)
    assert done.returncode == 2 and message in error_line(done), done.stdout + done.stderr
    assert not (tmp_path / "out.h5").exists()


CHANGE = "outcome = dataclasses.replace(outcome, answer=dataclasses.replace(answer, {}))"
LIES = {  # what a wrong solver would do to its answer -> what finds it
    "answer.u[2] = answer.v[2]": "the graph has no edge",
    "answer.weight[0] += 1": "weighs",
    CHANGE.format("lower_bound=answer.lower_bound + 10**6"): "ratio is",
    CHANGE.format("closure_bottleneck=answer.closure_bottleneck - 1"): "closure_bottleneck is",
    CHANGE.format("cost=answer.cost - 1"): "cost is",
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.slow
def test_an_answer_that_fails_its_check_is_exit_1(lie, tmp_path, start_ranks, test_device):
    (tmp_path / "job.toml").write_text(JOB.format(f"{{ {TIES} }}"))
    require_found_out(partial(start_ranks, 2), tmp_path, test_device, "steiner_kmb", lie, LIES[lie])


def test_weights_beyond_32_bits_and_decimals_are_exact(test_device):
    big = from_edges([0, 1, 0], [1, 2, 2], [2**40 + 1, 2**41 + 3, 2**43], terminals=[0, 2])
    assert package.solve(big, "steiner-kmb", device=test_device).cost == 2**40 + 1 + 2**41 + 3
    small = from_edges([0, 1, 0], [1, 2, 2], [0.1, 0.2, 0.30000001], terminals=[0, 2])
    assert package.solve(small, "steiner-kmb", device=test_device).cost == 0.3
