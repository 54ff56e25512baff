"""`hpcsolve solve`: the algorithm follows from the instance, and the job that it writes gives the same result."""

import os
import sys

import msgspec
import numpy as np
import pytest

import hpcsolve as package
from hpcsolve.algorithms.base import NO_STOP
from hpcsolve.algorithms.steiner_kmb import subset_states
from hpcsolve.cli import main
from hpcsolve.errors import InputError, ResourceError
from hpcsolve.runner.choose import choose
from hpcsolve.runner.method import SECONDS
from tests.cli.seen import error_line

CITIES = "TYPE : TSP\nDIMENSION : {n}\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n{rows}\nEOF\n"
GRAPH = "p sp 4 6\na 1 2 3\na 2 1 3\na 2 3 4\na 3 2 4\na 3 4 5\na 4 3 5\n"
EDGES = "1 2 3\n2 3 4\n3 4 5\n4 1 6\n1 3 6\n"
TREE = (
    "33D32945 STP File, STP Format Version 1.0\nSECTION Graph\nNodes 4\nEdges 3\nE 1 2 3\nE 2 3 4\nE 3 4 5\nEND\n"
    "SECTION Terminals\nTerminals 2\nT 1\nT 4\nEND\nEOF\n"
)


def write_cities(path, n):
    points = np.random.default_rng(n).integers(0, 1000, (n, 2))
    path.write_text(CITIES.format(n=n, rows="\n".join(f"{i} {x} {y}" for i, (x, y) in enumerate(points, 1))))
    return str(path)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The working directory, with instances of every kind."""
    monkeypatch.chdir(tmp_path)
    write_cities(tmp_path / "nine.tsp", 9)
    write_cities(tmp_path / "sixty.tsp", 60)
    for name, text in (("roads.gr", GRAPH), ("tree.stp", TREE), ("links.csv", EDGES)):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("number", ["001", "003"])
def test_files_that_differ_in_a_number_have_results_of_their_own(files, number):
    (files / "nine.tsp").rename(f"n9.{number}.txt")
    assert choose(f"n9.{number}.txt").table["output"] == f"results/n9.{number}.h5"


def test_few_cities_are_proven_and_the_job_gives_the_same_result(files, hpcsolve, test_device):
    (files / "mine").mkdir()
    (files / "nine.tsp").rename("mine/nine.tsp")
    nine = ("solve", "mine/nine.tsp", "--write-job", "jobs.toml")
    done = hpcsolve(*nine, "--seconds", "9", "--device", test_device)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("read:   mine/nine.tsp\nchoice: held-karp, since 9 cities are few enough for a proof")
    assert "proven optimal" in done.stdout and "file:   results/nine.h5" in done.stdout
    job = msgspec.toml.decode((files / "jobs.toml").read_text())
    assert job == {"algorithm": "held-karp", "instance": "mine/nine.tsp", "output": "results/nine.h5",
                   "device": test_device}
    again = hpcsolve("run", "jobs.toml")
    assert again.returncode == 0 and "this job is done already" in again.stdout
    assert hpcsolve("run", "jobs.toml", "--output", "again.h5").returncode == 0
    first, second = package.load("results/nine.h5"), package.load("again.h5")
    assert first.tour.tolist() == second.tour.tolist() and first.cost == second.cost


def test_the_job_file_is_not_overwritten(files, hpcsolve):
    (files / "mine.toml").write_text("# mine\n")
    done = hpcsolve("solve", "nine.tsp", "--write-job", "mine.toml", "--device", "cpu")
    assert done.returncode == 2 and "mine.toml: the job file exists with another content" in error_line(done)
    assert (files / "mine.toml").read_text() == "# mine\n"


def test_ranks_choose_alike(files, mpiexec, test_device):
    options = ("--set", "stop.iterations=5", "--set", "share-gpu=true")
    done = mpiexec(2, "solve", "sixty.tsp", *options, "--device", test_device)
    assert done.returncode == 0, done.stderr
    line = "choice: edge-assembly, since held-karp has no iterations to stop at; it stops after 5 iterations"
    assert line in done.stdout.splitlines() and done.stdout.count("choice:") == 1


def test_one_city_is_singular(files):
    reasons = [choose(write_cities(files / "some.tsp", n)).reason for n in (1, 2)]
    assert [reason.split(" for ")[0] for reason in reasons] == [
        "held-karp, since 1 city is few enough", "held-karp, since 2 cities are few enough"]
    found = package.solve(choose(write_cities(files / "one.tsp", 1)).instance.problem, device="cpu")
    assert repr(found) == "<held-karp: cost 0, optimal, 1 city>"


def table(*arguments, **keywords):
    found = choose(*arguments, **keywords).table
    return {**found, "instance": os.path.relpath(found["instance"])}


def test_the_choice_follows_from_the_instance(files):
    bounds = {"algorithm": "held-karp", "instance": "sixty.tsp", "output": "results/sixty.h5", "held-karp": {}}
    assert table("sixty.tsp") == {**bounds, "stop": {"seconds": SECONDS}}
    assert table("sixty.tsp", seconds=5.0) == {**bounds, "stop": {"seconds": 5.0}}
    assert table("nine.tsp", seconds=5.0)["stop"] == {}
    many = {"algorithm": "edge-assembly", "instance": "many.tsp", "output": "results/many.h5", "edge-assembly": {}}
    write_cities(files / "many.tsp", 80)
    assert table("many.tsp") == {**many, "stop": {"seconds": SECONDS}}
    assert table("many.tsp", seconds=5.0) == {**many, "stop": {"seconds": 5.0}}
    tree = {"algorithm": "steiner-kmb", "instance": "tree.stp", "output": "results/tree.h5"}
    for seconds in (None, 5.0):
        stop = {"seconds": seconds or SECONDS}
        assert table("tree.stp", seconds=seconds) == {**tree, "stop": stop, "steiner-kmb": {"mode": "exact"}}


def test_a_file_of_precedences_is_proven_by_held_karp_as_an_open_path(files):
    rows = "0 3 8 6 1000000\n-1 0 5 4 3\n-1 -1 0 7 2\n-1 6 4 0 5\n-1 -1 -1 -1 0\n"
    (files / "jobs.sop").write_text("NAME : jobs\nTYPE : SOP\nDIMENSION : 5\nEDGE_WEIGHT_TYPE : EXPLICIT\n"
                                    f"EDGE_WEIGHT_FORMAT : FULL_MATRIX\nEDGE_WEIGHT_SECTION\n5\n{rows}EOF\n")
    found = choose("jobs.sop")
    assert found.reason == "held-karp, since the file says which of 5 cities come before others"
    assert (found.table["held-karp"], found.table["stop"]) == ({"path": "open"}, {})
    answer = package.solve(found.instance.problem, device="cpu", path="open")
    assert (answer.cost, answer.tour.tolist()) == (13, [0, 1, 3, 2, 4])  # the best by hand: 3 + 4 + 4 + 2
    assert package.solve("jobs.sop", device="cpu").tour.tolist() == [0, 1, 3, 2, 4]


def test_a_named_algorithm_has_no_stop_of_its_own(files):
    assert choose("sixty.tsp", "held-karp", 9.0).job.settings.stop.seconds == 9
    assert choose("sixty.tsp", "held-karp").job.settings.stop == NO_STOP
    with pytest.raises(ResourceError, match="2000 cities are too many: held-karp takes at most 122 here; edge"):
        package.solve(np.ones((2000, 2000)), device="cpu", objective="bottleneck")


def test_a_set_key_names_the_algorithm(files):
    found = choose("roads.gr", overrides=["shortest-paths.sources=[1]"])
    assert found.job.settings.algorithm == "shortest-paths" and found.job.parameters.sources == [1]
    assert found.reason == "shortest-paths, as asked"
    found = choose("links.csv", overrides=["instance.terminals=[1, 4]"])
    assert found.job.settings.algorithm == "steiner-kmb" and found.job.settings.instance["terminals"] == [1, 4]
    assert found.job.settings.instance["file"] == str(files / "links.csv")


@pytest.mark.parametrize(("arguments", "message"), [
    (["roads.gr"], "roads.gr: is a graph of 4 vertices without terminals; say what to find: distances from a vertex, "
                   "--set shortest-paths.sources='[1]', a path, --set shortest-paths.queries='[[1, 4]]', a tree "
                   "that joins some, --set instance.terminals='[1, 4]' --set instance.directed=false, or a tour, "
                   "--set instance.stops='[1, 4]'"),
    (["links.csv"], "links.csv: is a graph of 4 vertices without terminals"),
    (["named.csv"], "named.csv: is a graph of 5 vertices without terminals; say what to find: distances from a vertex, "
                    "--set shortest-paths.sources='[\"Aa\"]', a path, --set shortest-paths.queries='[[\"Aa\", "),
    (["three.csv"], "three.csv: may be a table of distances or a list of edges; say which, as in --algorithm"),
    (["words.csv"], "words.csv: cannot be read: as cities: line 1: "),
    (["-"], "standard input: name the algorithm too"),
    (["nine.tsp", None, 3.0, ["held-karp.method=lattice"]], "--seconds: stop.seconds: held-karp has no partial answer"),
    (["nine.tsp", None, None, ["instance=a.tsp"]], "--set: instance: the instance is nine.tsp; leave this key out"),
    (["nine.tsp", None, None, ["held-karp.pth=open"]], "--set: held-karp.pth: unknown key; did you mean path?"),
    (["nine.tsp", None, None, ["objective=latency"]], "--set: objective: unknown key; did you mean objective in the t"),
    (["nine.tsp", None, None, ["sed=1"]], "--set: sed: unknown key; did you mean seed?"),
])
def test_what_cannot_be_solved_is_one_line(arguments, message, files):
    (files / "named.csv").write_text("Aa,Bb,1\nBb,Cc,2\nCc,Aa,4\nAa,Cc,4\nBb,Aa,1\nCc,Dd,3\nDd,Ee,1\n")
    (files / "three.csv").write_text("0 1 2\n1 0 2\n3 2 0\n")
    (files / "words.csv").write_text("1,2,3\n4\n")
    with pytest.raises(InputError) as error:
        choose(*arguments)
    text = str(error.value)
    assert text.startswith(message)
    assert "\n" not in text


def test_another_kind_of_problem_with_an_output_is_another_job_and_no_damage(files, hpcsolve):
    assert hpcsolve("solve", "nine.tsp", "--device", "cpu", "--output", "r.h5").returncode == 0
    done = hpcsolve("solve", "tree.stp", "--device", "cpu", "--output", "r.h5")
    assert done.returncode == 2 and "is the result of another job or instance" in error_line(done)


def test_standard_input_with_a_named_algorithm(files, run_process):
    command = f"cat nine.tsp | '{sys.executable}' -m hpcsolve solve - --algorithm held-karp --quiet --device cpu"
    done = run_process(["bash", "-c", command], timeout=60)
    assert done.returncode == 0 and "file:   results/stdin.h5" in done.stdout, done.stderr


def test_reading_to_choose_is_part_of_the_time_of_reading(files, start_ranks):
    """Reading takes 0.7 s longer on each of two ranks, before MPI starts."""
    program = (
        "import sys, time\nfrom hpcsolve.runner import choose\nfast = choose.read_instance\n"
        "choose.read_instance = lambda job, **keys: (time.sleep(0.7), fast(job, **keys))[1]\n"
        "from hpcsolve.cli import main\nsys.exit(main(sys.argv[1:]))\n"
    )
    done = start_ranks(2, sys.executable, "-c", program, "solve", "nine.tsp", "--device", "cpu", "--output", "out.h5")
    assert done.returncode == 0, done.stderr
    result = package.load("out.h5")
    assert (result.table("ranks")["seconds_read"] > 0.7).all() and result.seconds > 0.7
    assert (result.table("ranks")["seconds_run"] < 0.7).all()


CUBE = ("33D32945 STP File, STP Format Version 1.0\nSECTION Graph\nNodes 32\nEdges 80\n"
        + "".join(f"E {u + 1} {(u ^ 1 << bit) + 1} 1\n" for u in range(32) for bit in range(5) if not u >> bit & 1)
        + "END\nSECTION Terminals\nTerminals 16\n"
        + "".join(f"T {u + 1}\n" for u in range(32) if bin(u).count("1") % 2) + "END\nEOF\n")
"""A hypercube whose odd vertices are terminals. Reductions take nothing of it, and its bounds leave a gap."""


@pytest.mark.parametrize(("file", "options", "longer"), [
    ("sixty.tsp", ["--seconds", "0.5"], "--seconds 5"),
    ("cube.stp", ["--seconds", "100"], "--set steiner-kmb.mode=exact --set steiner-kmb.shakes=40"),
    ("nine.tsp", [], None), ("tree.stp", ["--seconds", "1e-6"], None),  # proven
    ("links.csv", ["--set", "shortest-paths.sources=[1]"], None),
])
def test_a_search_without_a_proof_says_how_to_go_on(file, options, longer, files, capsys, monkeypatch):
    monkeypatch.setattr(subset_states, "MOST_TERMINALS", 4)
    (files / "cube.stp").write_text(CUBE)
    assert main(["solve", file, *options, "--device", "cpu", "--output", "out.h5"]) == 0
    said = [text for text in capsys.readouterr().out.splitlines() if text.startswith("go on:")]
    assert said == ([] if longer is None else [f"go on:  the same command with {longer} --overwrite searches longer"])
