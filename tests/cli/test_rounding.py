"""Costs that are no exact integers within the limits: what a run, its file, `verify` and Python say of the rounding."""

from contextlib import suppress
from fractions import Fraction

import h5py
import networkx
import numpy as np
import pytest
from scipy.spatial.distance import cdist

import hpcsolve as package
from hpcsolve.cli import main
from hpcsolve.errors import InputError
from tests.cli.seen import error_line

PLACES = np.random.default_rng(7).random((11, 2))
JOBS = {
    "held-karp": 'algorithm = "held-karp"\ninstance = "flat.csv"\n',
    "ant-colony": 'algorithm = "ant-colony"\ninstance = "flat.csv"\n[stop]\niterations = 20\n',
    "steiner-kmb": 'algorithm = "steiner-kmb"\ninstance = { file = "town.edges", terminals = [0, 7, 30, 41] }\n',
}


def town(n=60):
    """Return a graph whose edges have their lengths as the attribute `length`."""
    graph = networkx.random_geometric_graph(n, 0.3, seed=1)
    for a, b in graph.edges:
        graph.edges[a, b]["length"] = float(np.hypot(*np.subtract(graph.nodes[a]["pos"], graph.nodes[b]["pos"])))
    return graph


def exact_cost(result, graph, text=repr):
    """Return the cost of the answer before rounding, by rational arithmetic, of costs as `text` writes them."""
    if result.algorithm == "steiner-kmb":
        return sum(Fraction(repr(graph.edges[a, b]["length"])) for a, b in result.tree)
    table = cdist(PLACES, PLACES).tolist()
    return sum(Fraction(text(table[a][b])) for a, b in zip(result.tour, np.roll(result.tour, -1), strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("floats")
    np.savetxt(folder / "flat.csv", cdist(PLACES, PLACES), "%.17g", ",")
    lines = [f"{a} {b} {data['length']!r}\n" for a, b, data in town().edges(data=True)]
    (folder / "town.edges").write_text("".join(lines))
    for name, text in JOBS.items():
        (folder / f"{name}.toml").write_text(text)
    return folder


@pytest.mark.parametrize("name", JOBS)
def test_a_file_of_floats(hpcsolve, folder, test_device, name):
    def run(*more):
        return hpcsolve("run", f"{name}.toml", "--device", test_device, "--output", f"{name}.h5", *more, cwd=folder)

    done = run()
    assert done.returncode == 0, done.stderr
    unit = {"held-karp": "1e-7", "ant-colony": "1e-9", "steiner-kmb": "1e-16"}[name]
    said = next(line for line in (done.stdout + done.stderr).splitlines() if line.startswith("costs:"))
    assert said.startswith(f"costs:  rounded to {unit}; the answer's exact cost stands beside the rounded one")
    cost = next(line for line in done.stdout.splitlines() if line.startswith("cost:"))
    result = package.load(folder / f"{name}.h5")
    exact = exact_cost(result, town(), "{:.17g}".format)
    assert f" (exactly {result.exact_cost})" in cost and Fraction(result.exact_cost) == exact
    assert "proven optimal" not in cost or f"for costs rounded to {unit}" in cost
    with h5py.File(folder / f"{name}.h5") as file:
        scale, error = int(file["instance/scale"][()]), float(file["rounding/error"][()])
        assert file["instance/rounded_to"][()] == float(unit) == 1 / scale
        stated = Fraction(int(file["solution/cost"][()]), scale)
        assert Fraction(file["rounding/cost"].asstr()[()]) == exact
    assert result.rounding_error == error
    assert 0 < abs(stated - exact) <= Fraction(error)
    (row,) = package.collect(folder / f"{name}.h5")["cost"]
    assert float(row) == float(exact)
    assert result.lower_bound <= float(exact)
    assert hpcsolve("verify", f"{name}.h5", cwd=folder).returncode == 0
    again = run()
    assert again.returncode == 0 and cost in again.stdout
    copied = hpcsolve("run", f"{name}.h5", "--output", "again.h5", "--overwrite", cwd=folder)
    assert copied.returncode == 0 and cost in copied.stdout
    refused = run("--set", "exact=true")
    assert refused.returncode == 2
    way_out = "remove exact, or set round" if name == "steiner-kmb" else "to fewer decimals, or remove exact = true"
    assert way_out in error_line(refused)
    rough = hpcsolve("run", f"{name}.toml", "--set", "round=0.01", "--output", "rough.h5", "--overwrite", cwd=folder)
    assert rough.returncode == 0 and "for costs rounded to 0.01" in rough.stdout
    assert hpcsolve("verify", "rough.h5", cwd=folder).returncode == 0


def test_verify_reads_the_rounded_costs_again(hpcsolve, folder, test_device, tmp_path, capsys):
    """A file that claims another rounding, or another effect of it, than its job's does not pass."""
    path = tmp_path / "r.h5"
    package.solve(folder / "flat.csv", device=test_device, output=path)
    wrong = {"/instance/rounded_to": "is not that of the instance", "/rounding/error": "does not follow from answer",
             "/rounding/cost": "does not follow from answer"}
    for name, message in wrong.items():
        with h5py.File(path, "r+") as file:
            old = file[name][()]
            file[name][()] = "3.1" if name == "/rounding/cost" else 1e-9
        with suppress(SystemExit):
            assert main(["verify", str(path)]) == 1
        assert f"{name} {message}" in capsys.readouterr().out
        with h5py.File(path, "r+") as file:
            file[name][()] = old
    exact = tmp_path / "exact.h5"
    package.solve(folder / "flat.csv", device=test_device, round=0.01, output=exact)
    assert hpcsolve("verify", str(exact)).returncode == 0


def test_optimum_within_the_bound(test_device):
    """By the given costs no tour is below the lower bound, that by the rounded costs less half a unit a leg."""
    table = cdist(PLACES, PLACES)
    fine, rough = (package.solve(table, device=test_device, round=unit) for unit in (1e-7, 0.01))
    assert rough.rounding_error == pytest.approx(11 * 0.005)
    assert rough.lower_bound == pytest.approx(rough.cost - 11 * 0.005) and rough.lower_bound <= fine.exact_cost
    assert exact_cost(rough, None) >= exact_cost(fine, None) == Fraction(fine.exact_cost)


def test_shortest_paths_keep_floats_unless_rounding_is_asked_for(test_device):
    keys = {"algorithm": "shortest-paths", "device": test_device, "sources": [0], "weight": "length"}
    floats = package.solve(town(), **keys)
    assert floats.contents.value("instance", "rounded_to") is None
    metres = package.solve(town(), round=1e-4, **keys)
    assert metres.contents.value("instance", "scale") == 10**4
    assert (floats.distance >= metres.distance - metres.rounding_error - 1e-12).all()
    assert 0.5e-4 <= metres.rounding_error <= 10 * 0.5e-4, "not of as many arcs as there are vertices"
    with pytest.raises(InputError, match="exact = true, but weights are not decimals"):
        package.solve(town(), exact=True, **keys)


def test_exact_decimals_are_not_touched(test_device):
    table = np.rint(cdist(PLACES, PLACES) * 1000) / 1000
    plain, exact = package.solve(table, device=test_device), package.solve(table, device=test_device, exact=True)
    assert plain.contents.value("instance", "rounded_to") is None and plain.contents.value("instance", "scale") == 1000
    assert plain.rounding_error == 0
    assert (plain.cost, plain.tour.tolist()) == (exact.cost, exact.tour.tolist())
    assert plain.contents.value("job", "hash") == exact.contents.value("job", "hash")


def test_wrong_units(folder, test_device):
    for unit, message in ((0.5, "round: expected a power of ten from 1e-18 to 1, got 0.5"), (10, "got 10"),
                          (1, "round = 1 is too coarse"), (1e-15, "round = 1e-15 is too fine")):
        with pytest.raises(InputError, match=message):
            package.solve(folder / "flat.csv", device=test_device, round=unit)
    with pytest.raises(InputError, match="round: has no effect with exact = true"):
        package.solve(folder / "flat.csv", device=test_device, round=0.1, exact=True)
