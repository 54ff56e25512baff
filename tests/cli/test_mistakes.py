"""Typical mistakes: each ends with exit code 2 and exactly one line, which names the cure."""

import networkx as nx
import numpy as np
import pytest

import hpcsolve as package
from hpcsolve.analysis.plot import plot_tour
from hpcsolve.errors import InputError

CITIES = "TYPE : TSP\nDIMENSION : 4\nEDGE_WEIGHT_TYPE : {}\nNODE_COORD_SECTION\n1 0 0\n2 3 4\n3 6 0\n4 {}\nEOF\n"
JOB = 'algorithm = "held-karp"\ninstance = "cities.tsp"\n'
ANTS = JOB.replace("held-karp", "ant-colony")
FILES = {
    "cities.tsp": CITIES.format("EUC_2D", "6 8"), "geo.tsp": CITIES.format("GEO", "48.75 9.2"),
    "roads.gr": "p sp 3 2\na 1 2 3\na 2 3 4\n", "job.toml": JOB,
    "exact.toml": "exact = true\n" + ANTS.replace("cities.tsp", "far.csv"),
    "far.csv": "0,0.123456789012,3,5\n0.123456789012,0,2.5,4\n3,2.5,0,1\n5,4,1,0\n",
    "misspelt.toml": JOB.replace("algorithm", "algoritm"), "above.toml": JOB + 'path = "open"\n[held-karp]\n',
    "below.toml": JOB + "[held-karp]\nseed = 2\n", "choice.toml": JOB + '[held-karp]\npath = "opn"\n',
    "stop.toml": JOB + "[held-karp]\nmethod = 'lattice'\n[stop]\nseconds = 5\n",
    "second.toml": ANTS + "[stop]\nsecond = 5\n",
    "city.toml": JOB + "[held-karp]\nstart = 7\n",
    "generator.toml": JOB.replace('"cities.tsp"', '{ generate = "uniform-tsp", n = 9, sed = 1 }'),
}

COMMANDS = {  # command -> the end of its only line
    "": "hpcsolve: error: a command is missing; the commands are ",
    "verfy r.h5": "unknown command 'verfy'; did you mean verify?",
    "job.toml": "job.toml is a file, not a command; did you mean hpcsolve run job.toml?",
    "cities.tsp": "cities.tsp is a file, not a command; did you mean hpcsolve solve cities.tsp?",
    "--device cpu run job.toml": "--device must follow the command",
    "solve -- cities.tsp --quiet": "--quiet stands behind --, where words are files; write it before --",
    "run cities.tsp": "is it an instance? hpcsolve solve cities.tsp",
    "estimate cities.tsp": "is it an instance? hpcsolve solve cities.tsp",
    "solve job.toml": "job.toml: is a job, not an instance; did you mean hpcsolve run job.toml?",
    "solve r.h5": "r.h5: is a result, not an instance; hpcsolve verify r.h5 checks its answer",
    "verify job.toml": "job.toml: is not an HDF5 file; a result is the .h5 file that hpcsolve run wrote",
    "tree r.h5": "r.h5: the answer is of kind tour, not a Steiner tree",
    "run job.toml --ouput x.h5": "unknown option --ouput; did you mean --output?",
    "run job.toml --set held-karp.path = open": "KEY=VALUE must not contain blanks; write --set held-karp.pat",
    "run job.toml --set path=open": "--set: path: unknown key; did you mean path in the table [held-karp]?",
    "run job.toml --device gpu": "--device: device: 'gpu': expected auto, cpu, cuda, cuda:1 or a GPU's UUID",
    "run misspelt.toml": "misspelt.toml:1: algoritm: unknown key; did you mean algorithm?",
    "run above.toml": "above.toml:3: path: unknown key; did you mean path in the table [held-karp]?",
    "run below.toml": "below.toml:4: held-karp.seed: unknown key; did you mean seed above the tables?",
    "run choice.toml": "held-karp.path: 'opn' is not \"cycle\" or \"open\"; did you mean open?",
    "run stop.toml": "stop.toml:6: stop.seconds: held-karp has no partial answer with these parameters",
    "run second.toml": "second.toml:4: stop.second: unknown key; did you mean seconds?",
    "run city.toml": "held-karp.start: the instance has no city 7; its cities are numbered 1 to 4",
    "run generator.toml": "instance: uniform-tsp has no key 'sed'; did you mean seed?",
    "run exact.toml": "cannot add up costs of 12 decimals exactly; remove exact, or set round in its place",
    "solve geo.tsp": "geo.tsp:8: 48.75 has 60 minutes or more, but GEO means degrees.minutes",
    "solve roads.gr": "without terminals; say what to find: distances from a vertex, --set shortest-paths.sources='[",
    "solve cities.tsp --algorithm heldkarp": "unknown algorithm 'heldkarp'; did you mean held-karp?",
    "solve cities.tsp --seconds soon": "argument --seconds: 'soon' is not a number of seconds above 0",
    "generate road --n 5 -o x.gr": "unknown generator 'road'; did you mean road-graph or road-network or road-steiner?",
    "generate uniform-tsp --n 5 --set extend=3 -o x.tsp": "uniform-tsp has no key 'extend'; did you mean extent?",
    "new eu-capital": "unknown example 'eu-capital'; did you mean eu-capitals?",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with instances, jobs and the result of a tour."""
    path = tmp_path_factory.mktemp("mistakes")
    for name, text in FILES.items():
        (path / name).write_text(text)
    package.solve(path / "cities.tsp", device="cpu", output=path / "r.h5")
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_mistake_is_one_line_that_names_the_cure(command, folder, hpcsolve):
    before = sorted(path.name for path in folder.iterdir())
    done = hpcsolve(*command.split(), cwd=folder)
    lines = done.stderr.splitlines()
    assert done.returncode == 2 and len(lines) == 1, done.stdout + done.stderr
    assert lines[0].startswith("hpcsolve: error: ") and COMMANDS[command] in lines[0]
    assert sorted(path.name for path in folder.iterdir()) == before


def test_all_ranks_print_one_line(folder, mpiexec):
    for arguments in (["solve"], ["run", "job.toml", "--ouput", "x"], ["solve", "job.toml"]):
        done = mpiexec(2, *arguments, cwd=folder)
        assert done.returncode == 2 and done.stderr.count("hpcsolve: error: ") == 1, done.stderr


def streets():
    graph = nx.MultiDiGraph()
    graph.add_edge(1, 2, length=3.5)
    graph.add_edge(2, 3, length=1.0)
    return graph


def solve_roads(**keys):
    return package.solve("roads.gr", "shortest-paths", device="cpu", **keys)


SQUARE = [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
CALLS = {  # what is called in Python -> part of the message
    "a number to stop at": (lambda: package.solve(SQUARE, "ant-colony", stop=5), 'for example stop={"seconds": 5}'),
    "a key of stop": (lambda: package.solve(SQUARE, "ant-colony", seconds=5), "mean seconds in the table [stop]?"),
    "a misspelt key": (lambda: package.solve(SQUARE, pth="open"), "held-karp.pth: unknown key; did you mean path?"),
    "a Python name": (lambda: package.solve(SQUARE, "held_karp"), "'held_karp'; did you mean held-karp?"),
    "another attribute": (
        lambda: package.solve(streets(), "shortest-paths", sources=[1]), 'choose with weight=, as in weight="length"'),
    "no square": (lambda: package.solve(np.zeros((2, 3))), "the cost matrix has shape (2, 3); it must be (n, n)"),
    "no instance": (lambda: package.solve("none.tsp"), "none.tsp: cannot be read: No such file or directory"),
    "a table that is not there": (lambda: package.load("r.h5").table("layer"), "result has no table 'layer'; it has"),
    "a plot of a table": (
        lambda: plot_tour(solve_roads(sources=[1, 2])),
        "plot_tour draws a tour; this result of shortest-paths has distances, which result.plot() draws"),
    "a plot of reductions": (
        lambda: plot_tour(solve_roads(sources=[1, 2], reduce=["sum"])),
        "has reductions of distances, which result.plot() draws"),
    "a source that is no list": (
        lambda: solve_roads(sources="1"),
        'shortest-paths.sources: \'1\' is not "terminals" or "all" or a list, such as ["1"]'),
    "a target that is no list": (
        lambda: solve_roads(sources=[1], targets="terminal"), 'such as ["terminal"]; did you mean terminals?'),
    "an unknown key of random sources": (
        lambda: solve_roads(sources={"randm": 2}), "shortest-paths.sources: unknown key randm"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_mistake_in_python_is_one_line_too(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    call, message = CALLS[name]
    with pytest.raises(InputError) as error:
        call()
    assert message in str(error.value) and "\n" not in str(error.value)
