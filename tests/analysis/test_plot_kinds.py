"""Every plot draws its own kind of result and refuses others, and `Result.plot` finds the one that fits."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from hpcsolve.analysis import plot
from hpcsolve.analysis.collect import table_of
from hpcsolve.analysis.plot.run import OTHER, diagnosis, seconds_by_phase
from hpcsolve.analysis.statistics import plot_box, plot_scaling
from hpcsolve.errors import EnvironmentFault, InputError
from tests.analysis.results import BATCH_COSTS, FRIENDS, PROBLEMS, changed, hostile

DRAWN = {  # function -> the results that it draws
    plot.plot_tour: {"tour", "path", "paths", "windows", "prizes", "ants", "population"},
    plot.plot_schedule: {"windows"},
    plot.plot_prizes: {"prizes"},
    plot.plot_batch: {"batch"},
    plot.plot_tree: {"tree", "best tree", "exact tree", "tree of names"},
    plot.plot_distances: {"distances", "distances of names", "nearest"},
    plot.plot_voronoi: {"nearest"},
    plot.plot_histogram: {"distances", "distances of names", "nearest", "targets", "tree"},
    plot.plot_path: {"queries", "queries of names"},
    plot.plot_reductions: {"reductions", "reductions of names"},
    plot.plot_convergence: {"ants", "population", "best tree", "exact tree"},
    plot.plot_colonies: {"ants"},
    plot.plot_layers: {"tour", "paths", "windows", "prizes", "exact tree"},
    plot.plot_ranks: set(PROBLEMS),
}
OWN = {
    "batch": "plot_batch",
    "tour": "plot_tour", "path": "plot_tour", "paths": "plot_tour", "windows": "plot_tour",
    "prizes": "plot_tour",
    "ants": "plot_tour", "population": "plot_tour",
    "tree": "plot_tree",
    "best tree": "plot_tree", "exact tree": "plot_tree", "tree of names": "plot_tree",
    "distances": "plot_distances", "distances of names": "plot_distances", "nearest": "plot_voronoi",
    "reductions": "plot_reductions", "reductions of names": "plot_reductions",
    "targets": "plot_histogram", "queries": "plot_path", "queries of names": "plot_path",
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
    with pytest.raises(InputError, match="the result has no 'sum'; it has access, closeness, farthest, nearest, c"):
        plot.plot_reductions(results("reductions"), quantity="sum")
    with pytest.raises(InputError, match="the network has 5 vertices, but the result 60"):
        plot.plot_tree(results("tree"), network=FRIENDS)


def test_names_are_not_taken_for_formulas(pyplot, tmp_path):
    axes = plot.plot_tour(hostile())
    axes.figure.savefig(tmp_path / "names.png")
    assert "a$b$c" in [text.get_text().partition(" ")[2] for text in axes.texts]


def test_no_matplotlib_is_said(monkeypatch, results):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in ("tour", "tree", "distances"):
        with pytest.raises(EnvironmentFault, match="pip install matplotlib"):
            results(name).plot()


def test_matplotlib_is_loaded_late():
    code = "import sys, hpcsolve.analysis.plot, hpcsolve.report.page; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout == "False\n"


NONE = {"read": 0, "build": 0, "copy": 0, "kernel": 0, "wait": 0, "check": 0, "write": 0, "run": 0}


def timed(results, ranks, **seconds):
    times = {f"seconds_{name}": np.zeros(ranks) + value for name, value in {**NONE, **seconds}.items()}
    return changed(results("tour"), "ranks", host=np.array(["h"] * ranks, object), **times)


@pytest.mark.parametrize(("ranks", "seconds", "said"), [
    (1, {"kernel": 8, "run": 9, "write": 1}, "80 % of the time is in kernels"),
    (1, {"build": 30, "run": 10},
     "75 % of the time is compiling or loading kernels; a later run finds them in the cache"),
    (1, {"run": 10, "read": 2.5}, "80 % of the time is other work"),
    (1, {}, "no time was measured"),
    (1, {"kernel": 4, "wait": 6, "run": 10}, "60 % of the time is waiting"),  # nobody else is there to wait for
    (2, {"kernel": [9, 6], "wait": [1, 4], "run": 10},
     "75 % of the time is in kernels; rank 1 waits 40 % of the algorithm's time for other ranks"),
    (3, {"kernel": [9, 7, 6], "wait": [1, 3, 4], "run": 10},
     "73 % of the time is in kernels; rank 2 waits 40 % of the algorithm's time for other ranks, "
     "and 1 more rank waits long"),
])
def test_the_diagnosis(ranks, seconds, said, results):
    assert diagnosis(timed(results, ranks, **seconds)) == said


def test_the_phases_add_up_to_the_run(results):
    result = results("ants")
    phases, table = seconds_by_phase(result), result.table("ranks")
    inside = phases["kernel"] + phases["copy"] + phases["wait"] + phases[OTHER]
    assert np.allclose(inside, table["seconds_run"]) and (phases["kernel"] > 0).all()


pytest.importorskip("matplotlib", reason="no matplotlib: pip install matplotlib (extra `plot`)")


SIZES = [8, 8, 8, 10, 10, 10, 12, 12, 12]


@pytest.fixture
def runs():
    modes = ["fast", "kmb", "best"] * 3
    return table_of({"n": n, "mode": mode, "seconds": 2.0**n, "cost": 100 + i, "empty": None}
                    for i, (n, mode) in enumerate(zip(SIZES, modes)))


def test_a_box_for_each_group_and_a_dot_for_each_run(runs):
    axes = Figure().add_subplot()
    assert plot_box(runs, "cost", by="mode", axes=axes) is axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["best", "fast", "kmb"]
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [sorted(line.get_ydata()) for line in dots] == [[102, 105, 108], [100, 103, 106], [101, 104, 107]]
    medians = [line.get_ydata() for line in axes.lines if line.get_marker() != "o"]
    for median in (105, 103, 104):
        assert any(np.array_equal(values, [median, median]) for values in medians)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("mode", "cost")


@pytest.mark.parametrize("law, scales, label", [
    ("exponential", ("linear", "log"), "fast ∝ 2.00^n"), ("power", ("log", "log"), "fast ∝ n^6."),
])
def test_dots_and_the_law_of_each_group(runs, law, scales, label):
    axes = plot_scaling(runs, by="mode", law=law)
    assert (axes.get_xscale(), axes.get_yscale()) == scales
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert len(texts) == 3 and texts[1].startswith(label)
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [line.get_xdata().tolist() for line in dots] == [[8, 10, 12]] * 3
    if law == "exponential":
        line = next(line for line in axes.lines if line.get_marker() != "o")
        assert line.get_ydata() == pytest.approx(2.0 ** line.get_xdata())


def test_a_new_figure_can_be_saved(runs, tmp_path):
    for number, axes in enumerate((plot_box(runs), plot_scaling(runs))):
        axes.figure.savefig(tmp_path / f"{number}.svg")
        assert (tmp_path / f"{number}.svg").stat().st_size > 5000


def test_a_column_without_values_is_an_error(runs):
    with pytest.raises(InputError, match="no run has a value of empty"):
        plot_box(runs, "empty")
