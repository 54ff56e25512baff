"""Every plot draws its own kind of result and refuses others, and `Result.plot` finds the one that fits."""

import subprocess
import sys

import pytest

from hpcsolve.analysis import plot
from hpcsolve.analysis.plot import needs
from hpcsolve.errors import EnvironmentFault, InputError
from tests.analysis.results import FRIENDS, PROBLEMS, hostile

DRAWN = {  # function -> the results that it draws
    plot.plot_tour: {"tour", "path", "ants"},
    plot.plot_tree: {"tree", "best tree", "exact tree", "tree of names"},
    plot.plot_distances: {"distances", "distances of names", "nearest"},
    plot.plot_voronoi: {"nearest"},
    plot.plot_matrix: {"distances", "distances of names", "nearest", "targets", "tree"},
    plot.plot_path: {"queries", "queries of names"},
    plot.plot_reductions: {"reductions", "reductions of names"},
    plot.plot_convergence: {"ants", "best tree", "exact tree"},
    plot.plot_colonies: {"ants"},
    plot.plot_layers: {"tour", "exact tree"},
    plot.plot_ranks: set(PROBLEMS),
}
OWN = {
    "tour": "plot_tour", "path": "plot_tour", "ants": "plot_tour", "tree": "plot_tree", "best tree": "plot_tree",
    "exact tree": "plot_tree", "tree of names": "plot_tree",
    "distances": "plot_distances", "distances of names": "plot_distances", "nearest": "plot_voronoi",
    "reductions": "plot_reductions", "reductions of names": "plot_reductions",
    "targets": "plot_matrix", "queries": "plot_path", "queries of names": "plot_path",
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("function", DRAWN, ids=lambda function: function.__name__)
def test_other_kinds_are_refused(function, name, results, pyplot):
    result = results(name)
    if name in DRAWN[function]:
        assert function(result).has_data()
        return
    with pytest.raises(InputError) as error:
        function(result)
    assert function.__name__ in str(error.value) and "\n" not in str(error.value)
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


def test_an_answer_without_a_picture_is_refused_with_what_to_do(results, monkeypatch):
    """The tours of a batch have none, and a function that draws something else does not point to `result.plot()`."""
    with pytest.raises(InputError, match=r"there is no picture of the tours of a batch; export the result as \.csv"):
        needs.require_picture("tours of a batch")
    monkeypatch.setattr(needs, "DRAWN", ("tour",))
    with pytest.raises(InputError, match="has distances, of which there is no picture; export it as"):
        plot.plot_tour(results("distances"))


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
