"""Results that the tests of pictures and reports share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hpcsolve
from tests.analysis.results import PROBLEMS, solved


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Return a function from a name in `PROBLEMS` to the result file, which is made once."""
    folder = tmp_path_factory.mktemp("results")

    def file(name: str) -> str:
        path: Path = folder / f"{name}.h5"
        if not path.exists():
            problem, algorithm, keys = PROBLEMS[name]
            solved(problem(), algorithm, output=path, **keys)
        return str(path)

    return file


@pytest.fixture(scope="session")
def results(files: Callable[[str], str]) -> Callable[[str], Any]:
    """Return a function from a name in `PROBLEMS` to the result, which is loaded once."""
    return functools.cache(lambda name: hpcsolve.load(files(name)))


@pytest.fixture
def pyplot() -> Iterator[Any]:
    """Return pyplot without a screen, and close its figures afterwards, or skip the test without matplotlib."""
    matplotlib = pytest.importorskip("matplotlib", reason="no matplotlib (extra `plot`)")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")
