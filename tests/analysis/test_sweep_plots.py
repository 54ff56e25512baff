"""The plots of a sweep show every run, every group and the fitted law."""

import numpy as np
import pytest

from hpcsolve.analysis.collect import table_of
from hpcsolve.errors import InputError

pytest.importorskip("matplotlib", reason="no matplotlib: pip install matplotlib (extra `plot`)")

from matplotlib.figure import Figure

from hpcsolve.analysis.statistics import plot_box, plot_scaling

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
