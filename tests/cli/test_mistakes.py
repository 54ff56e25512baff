"""Typical mistakes: each ends with exit code 2 and exactly one line, which names the cure."""

import networkx as nx
import numpy as np
import pytest

import hpcsolve as package
from hpcsolve.analysis.plot import plot_tour
from hpcsolve.errors import InputError, LaunchError
from hpcsolve.wording import unreadable

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
    "table.csv": "0,1,2\n1,0,3\n", "streets.csv": "from,to,length\na,b,1\nb,c,2\na,c,4\n",
    "plane.csv": "name,x,y\na,1,2\nb,3,4\nc,5,6\nd,7,8\n", "commas.csv": "0;1,5;2\n1.5;0;3\n2;3;0\n",
    "addresses.csv": "name,address\na,Market 1\nb,Mill Lane 2\n", "swapped.csv": "name,lat,lon\na,116,48\nb,115,47\n",
    "decimal.csv": "name;lat;lon\na;48,1;16,5\nb;47.5;15\n", "sheet.ods": "PK\x03\x04", "empty.csv": "",
    "fleet.vrp": CITIES.format("EUC_2D", "6 8").replace("TSP", "CVRP"), "minus.gr": "p sp 3 2\na 1 2 3\na 2 3 -4\n",
    "yaml.toml": "algorithm: held-karp\n", "quotes.toml": JOB.replace('"', ""), "True.toml": JOB + "exact = True\n",
    "names.toml": 'algorithm = "shortest-paths"\n[shortest-paths]\nsources = [a, b]\n', "twice.toml": JOB + JOB,
    "half.toml": JOB + 'seed = "1.."\n', "sweep.toml": JOB + 'seed = "1..3"\n', "missing.toml": JOB.replace("cit", "t"),
    "start.toml": ANTS + "[ant-colony]\nstart = 1\n", "trucks.toml": ANTS + "[ant-colony]\nvehicles = 3\n",
    "all.toml": 'algorithm = "shortest-paths"\ninstance = { generate = "grid-graph", rows = 60, columns = 60 }\n'
                '[shortest-paths]\nsources = "all"\n',
    "generator.toml": JOB.replace('"cities.tsp"', '{ generate = "uniform-tsp", n = 9, sed = 1 }'),
}

COMMANDS = {  # command -> part of its only line, after the exit code where it is not 2
    "": "hpcsolve: error: a command is missing; the commands are ",
    "verfy r.h5": "unknown command 'verfy'; did you mean verify?",
    "job.toml": "job.toml is a file, not a command; did you mean hpcsolve run job.toml?",
    "cities.tsp": "cities.tsp is a file, not a command; did you mean hpcsolve solve cities.tsp?",
    "--device cpu run job.toml": "--device must follow the command",
    "solve -- cities.tsp --quiet": "--quiet comes after --, where every word is a file name; write it before --",
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
    "run stop.toml": "stop.toml:6: stop.seconds: held-karp has no partial answer with method = \"lattice\"",
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
    # what section 4 of the program's trial found
    "solve cities.tsp --output out.csv": "name it out.h5; then hpcsolve export out.h5 -o out.csv",
    "solve cities.tsp --output out.html": "name it out.h5; then hpcsolve report out.h5 -o out.html",
    "solve table.csv": "cities: line 1: 3 cells in a table of 2 rows; the matrix must be square",
    "solve streets.csv --set instance.terminals=[a,b]": """single quotes around all, as in --set 'KEY=["a","b"]'""",
    "solve streets.csv --set instance.terminals=a,b": """is written --set 'instance.terminals=["a", "b"]'""",
    "run half.toml": 'half.toml:3: seed: "1.." is not a range; give both ends as whole numbers: "1..20"',
    "sweep half.toml": 'half.toml:3: seed: "1.." is not a range; give both ends as whole numbers: "1..20"',
    "run quotes.toml": 'quotes.toml:1: not a valid TOML file: Invalid value at column 13; write algorithm = "held-karp',
    "run start.toml": "start.toml:4: ant-colony.start: ant-colony has no such key: it is a key of held-karp and "
    "edge-assembly; remove it",
    "run trucks.toml": "ant-colony.vehicles: unknown key; hpcsolve does not solve vehicle routing (several vehicles,",
    "run job.toml --set held-karp.penalties=3": "unknown key; hpcsolve does not solve prize collecting",
    "run job.toml --demands d.csv": "unknown option --demands; hpcsolve does not solve vehicle routing",
    "solve cities.tsp --algorithm vrp": "unknown algorithm 'vrp'; hpcsolve does not solve vehicle routing",
    "solve fleet.vrp": "fleet.vrp:1: TYPE 'CVRP' is not known; hpcsolve does not solve vehicle routing",
    "run job.toml --checkpoint-every 5": "unknown option --checkpoint-every; did you mean --checkpoint-interval?",
    "slurm sweep.toml": "3: seed: there are several values; for sbatch --array hpcsolve sweep sweep.toml --missing pri",
    "estimate all.toml --memory 1M": '3 [shortest-paths] reduce = ["sum"] keeps the sum of each row in place of the ta',
    "new places": "places.csv: exists already with another content; name another folder",
    # others
    "run yaml.toml": 'Expected \'=\' after a key in a key/value pair at column 10; write algorithm = "held-karp"',
    "run True.toml": "True.toml:3: not a valid TOML file: Invalid value at column 9; write exact = true",
    "run names.toml": 'names.toml:3: not a valid TOML file: Invalid value at column 12; write sources = ["a", "b"]',
    "run twice.toml": "twice.toml:3: not a valid TOML file: this key is given twice, remove one at column 24",
    "run missing.toml": "ties.tsp: cannot be read: No such file or directory; did you mean cities.tsp?",
    "run jb.toml": "jb.toml: cannot be read: No such file or directory; did you mean job.toml?",
    "verify rr.h5": "rr.h5: cannot be read: No such file or directory; did you mean r.h5?",
    "run sweep.toml": "sweep.toml:3: seed: there are several values; `hpcsolve sweep` runs every combination",
    "estimate sweep.toml": "sweep.toml:3: seed: there are several values; estimate one of them, as in --set seed=1",
    "run job.toml -n 4": "unknown option -n; ranks are started by a launcher: mpiexec -n 4 hpcsolve run job.toml",
    "run job.toml -o x.h5": "unknown option -o; did you mean --output?",
    "run job.toml --force": "unknown option --force; did you mean --overwrite?",
    "run job.toml --resume": "unknown option --resume; the same command goes on from its checkpoint by itself",
    "run job.toml --gpu": "unknown option --gpu; did you mean --device cuda?",
    "solve cities.tsp --time-limit 5": "unknown option --time-limit; hpcsolve solve has --seconds, a job [stop] second",
    "solve cities.tsp --seed 3": "unknown option --seed; it is a key of the job: --set seed=...",
    "solve cities.tsp --ants 3": "unknown option --ants; it is a key of the job: --set ant-colony.ants=...",
    "solve cities.tsp --algorithm dijkstra": "unknown algorithm 'dijkstra'; did you mean shortest-paths?",
    "run job.toml --set held-karp.precedence=[[1,2]]": "held-karp.precedence: unknown key; did you mean before?",
    "run job.toml --set timeout=5": "--set: timeout: unknown key; did you mean seconds in the table [stop]?",
    "slurm job.toml -n 5 --ranks-per-node 2": "5 ranks do not fill nodes of 2 ranks; change --ranks-per-node",
    "solve plane.csv": "line 1: x and y in a plane are not read from tables; write TSPLIB (EDGE_WEIGHT_TYPE: EUC_2D), ",
    "solve commas.csv": "cities: line 2: 1.5 beside 1,5 (line 1): the comma or the point may be a mark of thousands; ",
    "solve decimal.csv": "decimal.csv:3: 47.5 beside 48,1 (line 2): the comma or the point may be a mark of thousands",
    "solve swapped.csv": "swapped.csv:2: the latitude 116 is outside of -90 to 90 decimal degrees; are latitude and lo",
    "solve addresses.csv": "is a graph of 6 vertices without terminals (as costs of cities: line 2: the cost from city",
    "solve sheet.ods": "sheet.ods: is a spreadsheet of LibreOffice; save the sheet as CSV",
    "solve .": "cannot be read: Is a directory; name a file in it",
    "solve https://example.org/a.tsp": "hpcsolve reads files of this machine: download it, and name the file",
    "solve minus.gr": "minus.gr:3: the weight is negative: -4",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with instances, jobs and the result of a tour."""
    path = tmp_path_factory.mktemp("mistakes")
    for name, text in FILES.items():
        (path / name).write_text(text)
    (path / "places.csv").symlink_to("/proc/self/mem")  # as little to be read as another user's file
    package.solve(path / "cities.tsp", device="cpu", output=path / "r.h5")
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_mistake_is_one_line_that_names_the_cure(command, folder, in_process):
    before = sorted(path.name for path in folder.iterdir())
    done = in_process(*command.split(), cwd=folder)
    lines = done.stderr.splitlines()
    code, cure = ("3", COMMANDS[command][2:]) if COMMANDS[command].startswith("3 ") else ("2", COMMANDS[command])
    assert str(done.returncode) == code and len(lines) == 1, done.stdout + done.stderr
    assert lines[0].startswith("hpcsolve: error: ") and cure in lines[0]
    assert sorted(path.name for path in folder.iterdir()) == before


def test_the_table_is_as_long_as_was_promised():
    assert len(COMMANDS) + len(CALLS) >= 96 and len(set(COMMANDS.values())) > 48


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
        '; a list of vertices is written ["1"]; or write terminals or all'),
    "a target that is no list": (
        lambda: solve_roads(sources=[1], targets="terminal"), 'written ["terminal"]; did you mean terminals?'),
    "no list of sources": (lambda: solve_roads(sources=1), "got integer; a list has brackets: [1]; meaning: Where pat"),
    "no list of terminals": (
        lambda: package.solve("roads.gr", "steiner-kmb", terminals=3), "terminals=3: give a list, as in terminals=[3]"),
    "points": (lambda: package.solve([(0, 0, 0)] * 4, "held-karp"), "scipy.spatial.distance.cdist(points, po"),
    "no problem": (lambda: package.solve(None, "held-karp"), "NoneType is no problem; give costs from row to column, "),
    "a graph for tours": (lambda: package.solve(streets(), "held-karp"), "has no tours; name the vertices that a to"),
    "an output that is no name": (lambda: package.solve(SQUARE, output=5), "output: expected a path (text or os"),
    "an output for a spreadsheet": (lambda: package.solve(SQUARE, output="a.csv"), "name it a.h5; then hpcsolve expor"),
    "another communicator": (lambda: package.solve(SQUARE, "held-karp", 4), "a communicator of mpi4py or what hpcs"),
    "a result that is loaded": (
        lambda: package.load(package.load("r.h5")), "load: expected a path (text or os.PathLike), got Result"),
    "a number that is collected": (lambda: package.collect(5), "collect: expected names of files, got int"),
    "vehicles": (lambda: package.solve(SQUARE, "ant-colony", vehicles=3), "hpcsolve does not solve vehicle routing"),
    "a key of held-karp": (
        lambda: package.solve(SQUARE, "ant-colony", start=1), "it is a key of held-karp and edge-assembly; remove it"),
    "a path of query A": (lambda: solve_roads(queries=[[1, 2]]).path("A"), "there is no query 'A'; they are numbered "),
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


def test_a_notebook_shows_the_line_of_the_user_and_the_message(folder, monkeypatch):
    """IPython calls `_render_traceback_` in place of its own traceback. A bug of ours has all of it."""
    monkeypatch.chdir(folder)
    with pytest.raises(InputError) as error:
        package.solve(SQUARE, "held-karp", pth="open")
    where, message = error.value._render_traceback_()
    assert where.endswith(': package.solve(SQUARE, "held-karp", pth="open")') and where.startswith("line ")
    assert message == f"InputError: {error.value}"
    assert InputError("made by hand")._render_traceback_() == ["InputError: made by hand"]
    with pytest.raises(LaunchError) as bug:
        raise LaunchError("not an argument of this kernel")
    shown = bug.value._render_traceback_()
    assert shown[0] == "Traceback (most recent call last):" and len(shown) > 3 and "not an argument" in shown[-1]


def test_the_ending_of_a_file_is_no_likeness(tmp_path):
    """Files are alike by their names without it."""
    for name in ("long.toml", "two.xlsx", "m.csv", "m.toml", "places.csv"):
        (tmp_path / name).touch()
    meant = {"nofile.toml": "", "delta.xlsx": "", "m.cvs": "m.csv", "plac": "places.csv", "lang.toml": "long.toml"}
    for name, other in meant.items():
        said = unreadable(str(tmp_path / name), FileNotFoundError(2, "No such file"))
        assert said == "cannot be read: No such file" + (f"; did you mean {other}?" if other else ""), name
