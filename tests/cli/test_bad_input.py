"""Bad input on the command line ends with exit code 2 and one line, in under 2 s and with nothing written."""

import os
import resource
import sys

import pytest

from tests.cli.seen import error_line, write_job

SECONDS = 2.0
"""CPU time rather than elapsed time, so that a busy machine does not fail a test."""
POINTS = "TYPE : TSP\nDIMENSION : 3\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 3 4\n3 6 0\nEOF\n"
JOB = 'algorithm = "held-karp"\ninstance = "good.tsp"\n'
UNIFORM = JOB.replace('"good.tsp"', '{ generate = "uniform-tsp", n = 4 }')
JOBS = {  # what stands above the tables
    "output = \"\"": "'': the output is not the name of a file",
    'output = "a\\u0000b.h5"': "the output is not the name of a file",
    "threads = 60000": "threads = 60000: it must be at least 1, at most",
    "\x89HDF": "job.toml",
}


STEINLIB = """\
33D32945 STP File, STP Format Version 1.0
SECTION Graph
Nodes 4
Edges 4
E 1 2 3
E 2 3 1
E 3 4 2
E 4 1 5
END
SECTION Terminals
Terminals 2
T 1
T 3
END
EOF
"""
FILES = {
    "good.tsp": POINTS, "nan.tsp": POINTS.replace("2 3 4", "2 nan 4"), "words.tsp": "hello world\n",
    "many.tsp": "TYPE:TSP\nDIMENSION:1000000000\nEDGE_WEIGHT_TYPE:EUC_2D\nEOF\n",
    "cycle.sop": "TYPE : SOP\nDIMENSION : 3\nEDGE_WEIGHT_TYPE : EXPLICIT\nEDGE_WEIGHT_FORMAT : FULL_MATRIX\n"
                 "EDGE_WEIGHT_SECTION\n0 1 2\n1 0 3\n-1 3 0\nEOF\n",
    "minus.gr": "p sp 2 1\na 1 2 -3\n", "nan.gr": "p sp 2 1\na 1 2 nan\n", "ends.gr": "p sp 2 1\na 1 3 4\n",
    "many.gr": "p sp 9 1000000000000\na 1 2 3\n", "arcs.gr": "p sp 2 1\na 1 2 3\n", "edges.txt": "1 2 3\n",
    "tour.gr": "NAME : x\nTYPE : TSP\nDIMENSION : 3\n", "pairs.txt": "1 2\n\n2 61\n", "empty.txt": "",
    "minus.stp": STEINLIB.replace("E 4 1 5", "E 4 1 -1"), "nan.stp": STEINLIB.replace("E 4 1 5", "E 4 1 nan"),
    "large.stp": STEINLIB.replace("E 4 1 5", f"E 4 1 {2**64}"), "arcs.stp": STEINLIB.replace("\nE ", "\nA "),
    "none.stp": STEINLIB.replace("Terminals 2\nT 1\nT 3", "Terminals 0"), "five.stp": STEINLIB.replace("T 3", "T 5"),
    "apart.stp": STEINLIB.replace("Edges 4", "Edges 2").replace("E 2 3 1\n", "").replace("E 4 1 5\n", "").replace(
        "Terminals 2\nT 1\nT 3", "Terminals 3\nT 4\nT 2\nT 1"),
}
GRID = '{ generate = "grid-graph", rows = 9, columns = 11 }'
RANDOM = '{ generate = "random-graph", n = 60, seed = 3 }'
ROADS = '{ generate = "road-steiner", n = 400, terminals = 30 }'
ANTS = '{ generate = "clustered-tsp", n = 70, seed = 3 }'
BESIDE = "queries already name all sources and targets"
QUESTIONS = {  # algorithm, instance: keys -> what the line must say, for files and jobs that are job.toml
    ("held-karp", '"nan.tsp"'): {"": "nan.tsp:6"}, ("held-karp", '"words.tsp"'): {"": "words.tsp"},
    ("held-karp", '"many.tsp"'): {"": "many.tsp"}, ("held-karp", '"empty.txt"'): {"": "is empty"},
    ("held-karp", '"cycle.sop"'): {"": "held-karp.path: the inst"},
    ("held-karp", '"."'): {"": "cannot be read: Is a directory"},
    ("held-karp", '{ generate = "uniform" }'): {"": "instance: unknown generator 'uniform'"},
    ("held-karp", '{ generate = "uniform-tsp", n = -4 }'): {"": "instance: n is -4"},
    ("held-karp", '{ generate = "uniform-tsp", n = 4, kind = 1 }'): {"": "instance: uniform-tsp has no key 'kind'"},
    ("held-karp", "{ n = 4 }"): {"": "instance: a table needs generate"},
    ("held-karp", '"good.tsp"'): {
        "start = 7": "has no city 7; its cities are numbered",
        "end = 2": "held-karp.end: a cycle ends where it starts",
        "path = 'open'\nstart = 2\nend = 2": "held-karp.end: an open path cannot end",
        "objective = 'lateness'": "job.toml:5: held-karp.objective: 'lateness' is not",
        "objective = 'position'\nwindows = 'nan.tsp'": "held-karp.windows: only objective = ",
        "windows = 'nan.tsp'\nmethod = 'lattice'\nbest = 2": "for one tour; remove method and best",
        "layout = 'compact'\nobjective = 'latency'":
            'held-karp.layout: "compact" does not go with objective = "latency"; remove layout',
        "objective = 'finish'": '"finish" needs windows',
        "objective = 'position'": '"position" needs one of weights',
        "objective = 'latency'\nweights = [1]": "weights: 1 weights for 3 cities",
        "objective = 'prize'": '"prize" needs prizes, an integer for each city',
        "objective = 'prize'\nprizes = [1]": "held-karp.prizes: 1 prize for 3 cities; give one for each",
        "objective = 'prize'\nprizes = [1, 2, -3]": "held-karp.prizes",
        "objective = 'prize'\nprizes = [1, 2, 3]\nbest = 2\narcs = true": "remove best and arcs",
        "objective = 'prize'\nprizes = [1, 2, 3]\nbefore = [[2, 3]]": 'objective = "prize" does not take it',
        "objective = 'prize'\nprizes = [1, 2, 3]\n[stop]\nseconds = 3": "stop.seconds",
        "budget = 3": 'held-karp.budget: only objective = "prize" takes it',
        "before = [[2, 2]]": "held-karp.before: [2, 2] names one city twice",
        "position = [[2, 4]]": "held-karp.position: place 4 of a tour of 3 cities",
    },
    ("shortest-paths", '"minus.gr"'): {"sources = [1]": "minus.gr:2: the weight is negative"},
    ("shortest-paths", '"nan.gr"'): {"sources = [1]": "nan.gr:2: a weight must be a number, found 'nan'"},
    ("shortest-paths", '"ends.gr"'): {"sources = [1]": "ends.gr:2: vertex 3 is not a whole number from 1 to 2"},
    ("shortest-paths", '"many.gr"'): {"sources = [1]": "many.gr:1: the header says 100000000"},
    ("shortest-paths", '"arcs.gr"'): {
        "sources = [3]": "shortest-paths.sources: arcs has no vertex 3",
        'queries = "q.txt"': "q.txt: cannot be read: No such file"},
    ("shortest-paths", '"tour.gr"'): {
        "sources = [1]": "tour.gr:1: is a travelling salesman problem (TSPLIB), not a graph"},
    ("shortest-paths", '{ file = "g.gr" }'): {"sources = [1]": "g.gr: cannot be read"},
    ("shortest-paths", '{ file = "arcs.gr", colour = 1 }'): {"sources = [1]": "no key 'colour' beside file"},
    ("shortest-paths", '{ file = "arcs.gr", directed = 1 }'): {"sources = [1]": "directed true or false"},
    ("shortest-paths", '{ file = "arcs.gr", coordinates = "none.co" }'): {"sources = [1]": "none.co: cannot be read"},
    ("shortest-paths", "{ n = 4 }"): {"sources = [1]": "a table needs generate"},
    ("shortest-paths", '{ generate = "uniform-tsp", n = 4 }'): {"sources = [1]": "unknown generator 'uniform-tsp'"},
    ("shortest-paths", GRID): {
        "sources = [1, 100]": "shortest-paths.sources: grid-9x11 has no vertex 100; its vertices are numbered 1 to 99",
        "sources = [3, 3]": "shortest-paths.sources: vertex 3 is listed twice",
        "sources = []": "shortest-paths.sources: the list is empty",
        "sources = 'terminals'": "shortest-paths.sources: grid-9x11 has no terminals",
        "sources = { random = 100 }": "shortest-paths.sources: 100 random sources, but only 99 vertices",
        "": "the key shortest-paths.sources is missing",
        "sources = [1]\ncutof = 3": "job.toml:6: shortest-paths.cutof: unknown key; did you mean cutoff or cutoffs?",
        "sources = [1, 'x']": "shortest-paths.sources: grid-9x11 has no vertex 'x'",
        "sources = [1, 2.5]": "job.toml:5: shortest-paths.sources",
        "sources = [1]\n[stop]\nseconds = 3": "stop.seconds: shortest-paths has no partial answer",
        "sources = [1]\n[held-karp]\npath = 'open'": "held-karp: this table has no effect",
        **{f'sources = "all"\n{keys}': f"shortest-paths.{message}" for keys, message in {
            "reduce = []": "reduce: the list is empty",
            'reduce = ["count"]': 'reduce: "count" needs the key cutoffs',
            'reduce = ["nearest"]': 'reduce: "nearest" needs the key k',
            'reduce = ["sum"]\nk = 3': 'k: only reduce = ["nearest"] uses it',
            "cutoffs = [3.0]": 'cutoffs: only reduce = ["count"] uses it',
            'reduce = ["access"]': 'reduce: "access" needs the key decays',
            "opportunities = [1]": 'opportunities: only reduce = ["access"] uses it',
            **{f'reduce = ["access"]\n{keys}': wrong for keys, wrong in {
                'decays = [9]\nopportunities = "jobs"': "opportunities: 'jobs' is a column of the file of targets, but",
                "decays = [9]\nopportunities = [1, 2]": "opportunities: 2 numbers for 99 vertices; give one for each",
                "decays = [9]\ntargets = [1, 2]\nopportunities = [1, -2]": "opportunities: number 2, -2 is negative",
                "decays = [{ steps = [[9, 1], [9, 0.5]] }]": "decays[0]: steps: distances must be at least 0, and",
                "decays = [9, { steps = [[9, 1.5]] }]": "decays[1]: steps: a share must be from 0 to 1, with at most",
                "decays = [{ steps = [] }]": "decays[0]: steps: the list is empty",
                "decays = [9, 8, { linear = 0 }]": "decays[2]: linear = 0 is not a distance above 0, at most 2.81e+14",
                "decays = [{}]": "decays[0]: a table needs one key, steps, linear, exponential or gaussian, not 0",
                "decays = [9, 8, 9.0]": "decays[2]: within 9 is listed twice; list it once"}.items()},
            'reduce = ["sum"]\npredecessors = true': "predecessors: reductions keep no row",
            'reduce = ["sum"]\nvoronoi = true': "voronoi: reductions keep no row"}.items()},
    },
    ("shortest-paths", RANDOM): {
        'queries = "pairs.txt"': "pairs.txt:3: random-60-seed3 has no vertex 61; its vertices are numbered 1 to 60",
        'queries = "none.txt"': "none.txt: cannot be read: No such file",
        'queries = "empty.txt"': "empty.txt: is empty",
        'queries = "job.toml"': "job.toml:1: expected a source, a target",
        "queries = []": "shortest-paths.queries: the list is empty",
        "queries = [[1, 61]]": "shortest-paths.queries: random-60-seed3 has no vertex 61",
        "queries = [[1, 2, 3]]": "job.toml:5: shortest-paths.queries[0]: expected list of length 2, got 3",
        "queries = [1, 2]": "job.toml:5: shortest-paths.queries[0]: expected list, got integer",
        "queries = [[1, 2]]\nqueries-sha256 = 'x'": "shortest-paths.queries-sha256: queries does not name a file",
        "queries = 'pairs.txt'\nqueries-sha256 = 'x'": "pairs.txt: has other queries than the job",
        "queries = 3": "job.toml:5: shortest-paths.queries: expected",
        **{f"queries = [[1, 2]]\n{key}": f"shortest-paths.{key.split()[0]}: {BESIDE}"
           for key in ("sources = [1]", "targets = [2]", "voronoi = true", "predecessors = true")},
    },
    ("steiner-kmb", ROADS): {
        'mode = "beast"': "job.toml:5: steiner-kmb.mode",
        "modes = 1": "job.toml:5: steiner-kmb.modes: unknown key; did you mean mode?",
        "[stop]\nseconds = 3": "stop.seconds: steiner-kmb has no",
        'mode = "fast"\nmatrix = true': "steiner-kmb.matrix", 'mode = "best"\nmatrix = true': "steiner-kmb.matrix",
    },
    ("steiner-kmb", '{ generate = "road-steiner", n = 4, terminals = 5 }'): {
        "": "terminals is 5; a graph of 4 vertices has at most 4"},
    ("steiner-kmb", '{ generate = "road-graph", n = 4 }'): {"": "unknown generator 'road-graph'"},
    ("steiner-kmb", '"arcs.gr"'): {"": "a Steiner problem is undirected"},
    ("steiner-kmb", '"edges.txt"'): {"": "has no terminals"},
    ("steiner-kmb", '"minus.stp"'): {"": "minus.stp:8: "}, ("steiner-kmb", '"nan.stp"'): {"": "nan.stp:8: "},
    ("steiner-kmb", '"large.stp"'): {"": "large.stp:8: "}, ("steiner-kmb", '"arcs.stp"'): {"": "arcs.stp:5: "},
    ("steiner-kmb", '"none.stp"'): {"": "none.stp:11: there are no terminals"},
    ("steiner-kmb", '"five.stp"'): {"": "five.stp:13: "},
    ("steiner-kmb", '"apart.stp"'): {
        "": "2 components: one of 2 vertices with terminal 4; one of 2 vertices with terminals 2, 1"},
    ("ant-colony", ANTS): {
        "rho = 0": "rho: expected number > 0", "rho = 1.5": "rho: expected number <= 1",
        "ants = 0": "ants: expected integer >= 1", "beta = nan": "beta: expected number >= 0.0, got nan",
        "variant = 'acs'": "'acs' is not \"mmas\" or \"ant-system\"",
        "candidates = 33": "candidates: expected integer <= 32",
        "colonies = 0": "colonies: expected integer >= 1", "[stop]\nseconds = 0": "seconds: expected number > 0",
        "[stop]\ntarget = nan": "target: expected a finite number",
        "[stop]\niterations = 0": "iterations: expected integer >= 1",
        "alpha = 0.5": "alpha: only 1 is possible, since",
    },
    ("edge-assembly", ANTS): {
        "population = 1": "population: expected integer >= 2", "children = 0": "children: expected integer >= 1",
        "optimum = nan": "optimum: expected a finite number",
        "end = 3": "edge-assembly.end: a cycle ends where it starts",
        "path = 'open'\nstart = 1\nend = 1": "edge-assembly.end: an open path cannot end in the city where it starts",
        "start = 99999": "edge-assembly.start: ",
        "forced = [[1, 1]]": "edge-assembly.forced: [1, 1] names one city twice",
        "forced = [[1, 2], [1, 3], [1, 4]]": "edge-assembly.forced: ",
        "forced = [[1, 2], [2, 3], [3, 1]]": "edge-assembly.forced: ",
        "tour = 'nowhere.tour'": "nowhere.tour", "tour = 'edges.txt'": "edges.txt", "[stop]\ngap = -1": "gap: expected",
    },
    ("ant-colony", '{ generate = "clustered-tsp", n = 3 }'): {"": "3 cities; ant-colony takes 4 to 65535"},
    ("ant-colony", '{ generate = "random-matrix", n = 9 }'): {
        "local-search = '2-opt'": "'2-opt' reverses segments of a tour"},
}


@pytest.fixture(scope="module", autouse=True)
def warm(hpcsolve, tmp_path_factory, test_device):
    """Compile the kernels once, since only runs with compiled kernels must end in two seconds."""
    folder = tmp_path_factory.mktemp("warm")
    (folder / "good.tsp").write_text(POINTS)
    for (algorithm, instance), keys in {
        ("held-karp", '"good.tsp"'): "", ("ant-colony", ANTS): "[stop]\niterations = 2",
        ("edge-assembly", ANTS): "population = 4",
        ("shortest-paths", GRID): "sources = [1]", ("steiner-kmb", ROADS): "",
    }.items():
        write_job(folder, algorithm, instance, keys)
        run = ("run", "job.toml", "--device", test_device, "--output", f"{algorithm}.h5")
        assert hpcsolve(*run, cwd=folder, timeout=300).returncode == 0


def cpu_seconds():
    """Return the time that this process and its children have computed."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def refused(hpcsolve, folder, *arguments, code=2):
    """Return the error line of a run that must leave the folder unchanged."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    started = cpu_seconds()
    done = hpcsolve(*arguments, cwd=folder)
    assert cpu_seconds() - started < SECONDS
    assert done.returncode == code, done.stdout + done.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert [path.name for path in folder.iterdir() if path.is_dir()] == []
    return error_line(done)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with files, and an output that no refusal may change."""
    folder = tmp_path_factory.mktemp("files")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "out.h5").write_text("somebody's")
    return folder


@pytest.mark.parametrize(("algorithm", "instance", "keys"), [(*of, keys) for of in QUESTIONS for keys in QUESTIONS[of]])
def test_bad_questions(algorithm, instance, keys, hpcsolve, files, test_device):
    write_job(files, algorithm, instance, keys)
    line = refused(hpcsolve, files, "run", "job.toml", "--overwrite", "--device", test_device)
    assert QUESTIONS[algorithm, instance][keys] in line


@pytest.mark.parametrize("line", JOBS)
def test_bad_jobs(line, hpcsolve, tmp_path, test_device):
    (tmp_path / "good.tsp").write_text(POINTS)
    (tmp_path / "job.toml").write_text(f"{JOB}{line}\n", encoding="latin-1")
    assert JOBS[line] in refused(hpcsolve, tmp_path, "run", "job.toml", "--device", test_device)


def test_an_output_in_the_way(hpcsolve, tmp_path, test_device):
    (tmp_path / "good.tsp").write_text(POINTS)
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "out.h5").write_text("somebody's text")
    run = ("run", "job.toml", "--device", test_device, "--output")
    assert "out.h5: is not an HDF5 file" in refused(hpcsolve, tmp_path, *run, "out.h5")
    assert "--overwrite" in refused(hpcsolve, tmp_path, *run, "out.h5")
    assert hpcsolve(*run, "out.h5", "--overwrite", cwd=tmp_path).returncode == 0
    other = refused(hpcsolve, tmp_path, *run, "out.h5", "--set", "held-karp.path=open")
    assert "out.h5: the output exists and is the result of another job or instance" in other
    (tmp_path / "good.tsp").write_text(POINTS.replace("6 0", "7 0"))
    assert "of another job or instance" in refused(hpcsolve, tmp_path, *run, "out.h5")
    assert "a folder" in refused(hpcsolve, tmp_path, *run, ".")
    assert "a folder" in refused(hpcsolve, tmp_path, *run, "newdir/")
    assert "not the name of a file" in refused(hpcsolve, tmp_path, *run, "")


def test_a_job_from_a_pipe_is_refused_at_once(tmp_path, run_process):
    (tmp_path / "job.toml").write_text(UNIFORM)
    for how in ("run <(cat job.toml)", "run /dev/stdin < <(cat job.toml)", "estimate /dev/null"):
        command = ["bash", "-c", f'"$0" -m hpcsolve {how}', sys.executable]
        done = run_process(command, timeout=30, cwd=tmp_path)
        assert done.returncode == 2 and "is a pipe or a device; write the job to a file" in error_line(done)


def test_more_threads_than_openmp_bears(hpcsolve, tmp_path):
    (tmp_path / "job.toml").write_text(UNIFORM)
    for threads in ("60000", "9" * 5000):
        environment = {**os.environ, "OMP_NUM_THREADS": threads}
        done = hpcsolve("run", "job.toml", "--device", "cpu", cwd=tmp_path, env=environment)
        assert done.returncode == 2 and f"OMP_NUM_THREADS={threads[:20]}: at most" in error_line(done)


@pytest.mark.parametrize("ranks", ["1000000", "512"])
def test_an_estimate_for_very_many_ranks_answers(ranks, hpcsolve, tmp_path):
    (tmp_path / "job.toml").write_text(UNIFORM.replace("n = 4", "n = 30"))
    done = hpcsolve("estimate", "job.toml", "-n", ranks, "--device", "cpu", "--set", "held-karp.method=lattice",
                    cwd=tmp_path, timeout=20)
    assert done.returncode == (0 if ranks == "512" else 3), done.stderr


def test_an_output_that_cannot_be_written_is_found_before_the_work(hpcsolve, tmp_path, test_device):
    (tmp_path / "job.toml").write_text('algorithm = "held-karp"\ninstance = { generate = "uniform-tsp", n = 26 }\n')
    run = ("run", "job.toml", "--device", test_device, "--output")
    for output in ("job.toml/out.h5", "/proc/out.h5", "/proc/x/out.h5"):
        assert "no file can be made in this folder" in refused(hpcsolve, tmp_path, *run, output, code=4)


def test_too_many_cities_for_the_memory(hpcsolve, tmp_path, test_device):
    (tmp_path / "job.toml").write_text('algorithm = "held-karp"\ninstance = { generate = "uniform-tsp", n = 40 }\n')
    lattice = ("--set", "held-karp.method=lattice")
    line = refused(hpcsolve, tmp_path, "run", "job.toml", "--device", test_device, *lattice, code=3)
    assert "40 cities need" in line and "cities fit on 1 rank with this memory" in line
    largest = int(line.split("at most ")[1].split(" ")[0])
    assert 20 < largest < 40


@pytest.mark.parametrize(("arguments", "message"), [
    (["run"], "the following arguments are required: JOB.toml"),
    (["solve", "x"], "x: cannot be read: No such file or directory"),
    (["run", "none.toml"], "none.toml: cannot be read: No such file or directory"),
    (["verify", "none.h5"], "none.h5: cannot be read: No such file or directory"),
    (["estimate", "none.toml", "-n", "0"], "at least 1"),
    (["estimate", "none.toml", "--memory", "much"], "is not a size such as 80G"),
    (["generate", "uniform-tsp", "--n", "0", "-o", "x.tsp"], "n is 0"),
    (["generate", "uniform-tsp", "--n", "5", "--set", "kind=7", "-o", "x.tsp"], "has no key 'kind'"),
    (["generate", "uniform-tsp", "--n", "5", "--set", "n=7", "-o", "x.tsp"], "--set n=7: give each key once"),
    (["generate", "uniform-tsp", "--n", "5", "--set", "n", "-o", "x.tsp"], "as KEY=VALUE"),
    (["generate", "unifrm-tsp", "--n", "5", "-o", "x.tsp"], "did you mean uniform-tsp?"),
    (["generate", "uniform-tsp", "--n", "5", "--set", "extend=3", "-o", "x.tsp"], "did you mean extent?"),
])
def test_usage(arguments, message, hpcsolve, tmp_path):
    assert message in refused(hpcsolve, tmp_path, *arguments)


def test_all_ranks_leave_with_one_line(mpiexec, tmp_path, test_device):
    (tmp_path / "nan.tsp").write_text(FILES["nan.tsp"])
    (tmp_path / "job.toml").write_text(JOB.replace("good", "nan"))
    done = mpiexec(3, "run", "job.toml", "--device", test_device, cwd=tmp_path)
    assert done.returncode == 2
    assert "nan.tsp:6" in error_line(done)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job.toml", "nan.tsp"]
