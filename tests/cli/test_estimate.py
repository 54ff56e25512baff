"""`hpcsolve estimate` gives the time of each job by phases, or says why nobody knows it.

How right it is shows `python -m jobs.benchmarks.estimates`, on a machine that nothing else uses.
"""

import pytest

from hpcsolve.output.reader import read_result

ROADS = '{ generate = "road-steiner", n = 2000, terminals = 60 }'
STREETS = '{ generate = "road-graph", n = 2000 }'
CITIES = '{ generate = "uniform-tsp", n = 15 }'
PHASES = ("starting", "reading", "solving", "checking", "writing", "time")
JOBS = {
    "held-karp": ("held-karp", CITIES, "", "about "),
    "compact": ("held-karp", CITIES, '[held-karp]\nlayout = "compact"', "about "),
    "open path": ("held-karp", CITIES, '[held-karp]\npath = "open"\nstart = 3', "about "),
    "one city": ("held-karp", '{ generate = "uniform-tsp", n = 1 }', "", "about "),
    "no stop": ("ant-colony", CITIES, "", "about "),
    "seconds": ("ant-colony", CITIES, "[ant-colony]\ncolonies = 2\n[stop]\nseconds = 90", "about 1 min 3"),
    "iterations": ("ant-colony", CITIES, '[ant-colony]\nvariant = "ant-system"\n[stop]\niterations = 5', "about "),
    "target and a limit": ("ant-colony", CITIES, "[stop]\ntarget = 1\nseconds = 90", "at most about 1 min 3"),
    "target": ("ant-colony", CITIES, "[stop]\ntarget = 1", "not known: [stop] target may end it at any time"),
    "stagnation": ("ant-colony", CITIES, "[stop]\nstagnation = 5", "not known: [stop] stagnation may end it"),
    "sources": ("shortest-paths", STREETS, "[shortest-paths]\nsources = { random = 500 }", "about "),
    "targets": ("shortest-paths", STREETS, "[shortest-paths]\nsources = [4, 5]\ntargets = [1, 2]", "about "),
    "reductions": ("shortest-paths", STREETS, '[shortest-paths]\nsources = "all"\nreduce = ["sum"]', "about "),
    "voronoi": ("shortest-paths", STREETS, "[shortest-paths]\nsources = [1, 5, 9]\nvoronoi = true", "about "),
    "queries": ("shortest-paths", STREETS, "[shortest-paths]\nqueries = [[1, 5], [1, 9], [7, 3]]", "about "),
    "fast": ("steiner-kmb", ROADS, "[steiner-kmb]\nexchange = true", "about "),
    "kmb": ("steiner-kmb", ROADS, '[steiner-kmb]\nmode = "kmb"\nmatrix = true', "about "),
    "kmb by single searches": ("steiner-kmb", ROADS, '[steiner-kmb]\nmode = "kmb"\nengine = "dijkstra"', "about "),
    "best": ("steiner-kmb", ROADS, '[steiner-kmb]\nmode = "best"', 'not known: mode "best" goes on until'),
    "best with a limit": (
        "steiner-kmb", ROADS, '[steiner-kmb]\nmode = "best"\n[stop]\nseconds = 90', "at most about 1 min "
    ),
}


def write(folder, algorithm, instance, tables):
    text = f'algorithm = "{algorithm}"\ninstance = {instance}\noutput = "out.h5"\n{tables}\n'
    (folder / "job.toml").write_text(text)


@pytest.mark.parametrize(("name", "ranks"), [(name, 1 + 2 * (number % 2)) for number, name in enumerate(JOBS)])
@pytest.mark.slow
def test_every_job_has_a_time_or_a_reason(name, ranks, hpcsolve, tmp_path, test_device):
    *job, expected = JOBS[name]
    write(tmp_path, *job)
    done = hpcsolve("estimate", "job.toml", "--device", test_device, "-n", str(ranks), cwd=tmp_path,
                    own_process=True)  # whose age is the time of starting
    assert done.returncode == 0, done.stderr
    lines = {line[:23].strip(): line[24:] for line in done.stdout.splitlines()}
    assert lines["time"].startswith(expected), done.stdout
    assert [phase for phase in lines if phase in PHASES] == list(PHASES)
    assert [path.name for path in tmp_path.iterdir()] == ["job.toml"]


def test_without_a_device_the_time_is_not_known(hpcsolve, tmp_path):
    write(tmp_path, "held-karp", CITIES, "")
    done = hpcsolve("estimate", "job.toml", "--device", "cuda:9", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "not known: " in done.stdout and "the largest that fits" in done.stdout


@pytest.mark.parametrize("name", ["kmb", "sources", "no stop", "open path"])
def test_the_process_takes_what_was_foreseen(name, hpcsolve, tmp_path):
    write(tmp_path, *JOBS[name][:3])
    done = hpcsolve("run", "job.toml", "--device", "cpu", cwd=tmp_path, own_process=True)
    assert done.returncode == 0, done.stderr
    ranks = read_result(tmp_path / "out.h5").groups["ranks"]
    estimated, taken = (int(ranks[name].values[0]) for name in ("estimated_bytes", "peak_resident_bytes"))
    assert abs(estimated - taken) <= 0.2 * taken
