"""Every plot draws its own kind of result and refuses others, and `Result.plot` finds the one that fits."""

import subprocess
import sys

import numpy as np
import pytest

from hpcsolve.analysis import plot
from hpcsolve.errors import EnvironmentFault, InputError
from tests.analysis.results import BATCH_COSTS, FRIENDS, PROBLEMS, hostile

DRAWN = {  # function -> the results that it draws
    plot.plot_tour: {"tour", "path", "paths", "ants"},
    plot.plot_batch: {"batch"},
    plot.plot_tree: {"tree", "best tree", "exact tree", "tree of names"},
    plot.plot_distances: {"distances", "distances of names", "nearest"},
    plot.plot_voronoi: {"nearest"},
    plot.plot_matrix: {"distances", "distances of names", "nearest", "targets", "tree"},
    plot.plot_path: {"queries", "queries of names"},
    plot.plot_reductions: {"reductions", "reductions of names"},
    plot.plot_convergence: {"ants", "best tree", "exact tree"},
    plot.plot_colonies: {"ants"},
    plot.plot_layers: {"tour", "paths", "exact tree"},
    plot.plot_ranks: set(PROBLEMS),
}
OWN = {
    "batch": "plot_batch",
    "tour": "plot_tour", "path": "plot_tour", "paths": "plot_tour", "ants": "plot_tour", "tree": "plot_tree",
    "best tree": "plot_tree", "exact tree": "plot_tree", "tree of names": "plot_tree",
    "distances": "plot_distances", "distances of names": "plot_distances", "nearest": "plot_voronoi",
    "reductions": "plot_reductions", "reductions of names": "plot_reductions",
    "targets": "plot_matrix", "queries": "plot_path", "queries of names": "plot_path",
}


@pytest.mark.parametrize(
    ("function", "name"), [(function, name) for function, names in DRAWN.items() for name in sorted(names)],
    ids=lambda value: value if isinstance(value, str) else value.__name__)
def test_each_function_draws_its_kinds(function, name, results, pyplot):
    assert function(results(name)).has_data()


@pytest.mark.parametrize("function", DRAWN, ids=lambda function: function.__name__)
def test_other_kinds_are_refused(function, results, pyplot):
    for name in PROBLEMS.keys() - DRAWN[function]:
        with pytest.raises(InputError) as error:
            function(results(name))
        assert function.__name__ in str(error.value) and "\n" not in str(error.value), name
    assert pyplot.get_fignums() == [], "a refusal leaves no empty figure"


@pytest.mark.parametrize("name", OWN)
def test_a_result_draws_itself(name, results, pyplot, monkeypatch):
    called = []
    function = getattr(plot, OWN[name])
    monkeypatch.setattr(plot, OWN[name], lambda *arguments, **options: called.append(function) or function(*arguments))
    axes = results(name).plot()
    assert called == [function]
    assert axes.figure.number in pyplot.get_fignums(), "notebooks show figures of pyplot only"


def test_axes_of_the_caller_are_used(results, pyplot):
    figure, (left, right) = pyplot.subplots(1, 2)
    assert results("tour").plot(left, names=False) is left and results("tree").plot(axes=right) is right
    assert pyplot.get_fignums() == [figure.number]


def test_a_proof_that_there_is_no_tour_has_no_picture(results, pyplot):
    with pytest.raises(InputError, match="no tour, so there is nothing to draw"):
        results("infeasible").plot()


def test_a_function_of_another_kind_points_to_the_one_that_draws(results):
    with pytest.raises(InputError, match=r"plot_tour draws a tour; .* the tours of a batch, which result.plot\(\) dr"):
        plot.plot_tour(results("batch"))
    with pytest.raises(InputError, match="plot_batch draws the tours of a batch; this result of held-karp has a tour"):
        plot.plot_batch(results("tour"))


def test_the_costs_of_a_batch_are_drawn(results, pyplot):
    """Ten instances, of which one has no tour: the curve goes up to nine."""
    axes, costs = results("batch").plot(), np.array(BATCH_COSTS, float)
    (line,) = axes.get_lines()
    assert line.get_xdata().tolist() == sorted(costs) and line.get_ydata().tolist() == list(range(1, 10))
    assert "not drawn: 1 instance without a tour" in axes.get_xlabel()


def test_wrong_choices_are_refused(results, pyplot):
    with pytest.raises(InputError, match="there is no query 2; they are numbered 0 to 1"):
        plot.plot_path(results("queries"), queries=[2])
    with pytest.raises(InputError, match="7 is not a source"):
        plot.plot_distances(results("distances"), source=7)
    with pytest.raises(InputError, match="the result has no 'sum'; it has closeness, farthest, nearest, count, "):
        plot.plot_reductions(results("reductions"), quantity="sum")
    with pytest.raises(InputError, match="the network has 5 vertices, but the result 60"):
        plot.plot_tree(results("tree"), network=FRIENDS)


def test_names_are_not_taken_for_formulas(pyplot, tmp_path):
    axes = plot.plot_tour(hostile())
    axes.figure.savefig(tmp_path / "names.png")
    assert "a$b$c" in [text.get_text() for text in axes.texts]


def test_no_matplotlib_is_said(monkeypatch, results):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in ("tour", "tree", "distances"):
        with pytest.raises(EnvironmentFault, match="pip install matplotlib"):
            results(name).plot()


def test_matplotlib_is_loaded_late():
    code = "import sys, hpcsolve.analysis.plot, hpcsolve.report.page; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout == "False\n"
