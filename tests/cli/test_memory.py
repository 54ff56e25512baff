"""Estimates of memory and time, also for hosts that are not here, and what reading takes before."""

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from hpcsolve import memory
from hpcsolve.algorithms.base import Plan
from hpcsolve.errors import ResourceError
from hpcsolve.formats.files import open_file
from hpcsolve.formats.known import GRAPH_FORMATS, TSP_FORMATS
from hpcsolve.job import load_job
from hpcsolve.output.reader import read_result
from hpcsolve.problems.generate import generate, makers
from hpcsolve.problems.geographic import from_places
from hpcsolve.problems.tsp import from_matrix
from hpcsolve.runner.ahead import build_for
from hpcsolve.runner.forecast import parsed_size
from hpcsolve.runner.memory import RankMemory, check_memory, free_bytes, memory_line
from tests.formats.samples import samples

MIB, GIB = 2**20, 2**30


def estimate(device, host=None, shared=0):
    host = host or [0] * len(device)
    seen = []

    def largest(free):
        seen.append(list(free))
        return 17

    found = Plan(tuple(device), tuple(host), 1, "op", (0,) * len(device), {}, largest, shared)
    return found, seen


def cpu(host="a", shared=8 * GIB, own=1 << 60):
    return RankMemory(host, "cpu", "", shared, own, shared)


def gpu(device, free, host="a", shared=8 * GIB):
    return RankMemory(host, "cuda", device, shared, 1 << 60, free)


def test_ranks_of_a_host_share_its_memory_as_they_need_it():
    found, _ = estimate([3 * GIB, GIB, GIB])
    assert free_bytes(found, [cpu("a"), cpu("a"), cpu("b")]) == [6 * GIB, 2 * GIB, 8 * GIB]
    check_memory(found, [cpu("a"), cpu("a"), cpu("b")], "n cities")
    with pytest.raises(ResourceError):
        check_memory(found, [cpu("a", shared=3 * GIB), cpu("a", shared=8 * GIB), cpu("b")], "n cities")


def test_a_limit_of_the_process_counts():
    found, _ = estimate([2 * GIB])
    check_memory(found, [cpu(own=2 * GIB)], "n cities")
    with pytest.raises(ResourceError, match="need 2 GiB of memory on rank 0"):
        check_memory(found, [cpu(own=2 * GIB - 1)], "n cities")


def test_a_gpu_and_its_host_both_count():
    found, seen = estimate([4 * GIB, 4 * GIB], [GIB, GIB])
    memories = [gpu("GPU-0", 5 * GIB), gpu("GPU-1", 6 * GIB)]
    assert free_bytes(found, memories) == [6 * GIB, 7 * GIB]
    with pytest.raises(ResourceError, match="on rank 1"):
        check_memory(found, [gpu("GPU-0", 5 * GIB), gpu("GPU-1", 3 * GIB)], "n cities")
    with pytest.raises(ResourceError):
        check_memory(found, [gpu("GPU-0", 5 * GIB, shared=GIB), gpu("GPU-1", 5 * GIB, shared=GIB)], "n cities")
    with pytest.raises(ResourceError):  # two ranks on one GPU
        check_memory(found, [gpu("GPU-0", 7 * GIB), gpu("GPU-0", 7 * GIB)], "n cities")
    assert len(seen) == 3 and seen[0] == [6 * GIB, 4 * GIB]


def test_memory_that_ranks_share_counts_once_per_host():
    found, seen = estimate([GIB, GIB, GIB], shared=4 * GIB)
    memories = [cpu("a"), cpu("a"), cpu("b")]
    assert found.needed == (5 * GIB,) * 3
    assert free_bytes(found, memories) == [6 * GIB, 6 * GIB, 8 * GIB]
    line = "memory: 5 GiB per rank (4 GiB of it once per host) of 6 GiB free, 11 GiB in all"
    assert memory_line(found, memories) == line
    check_memory(found, [cpu("a", shared=6 * GIB), cpu("a"), cpu("b", shared=5 * GIB)], "n vertices")
    for tight in ([cpu("a", shared=6 * GIB - 2), cpu("a"), cpu("b")], [cpu("a"), cpu("a"), cpu("b", own=5 * GIB - 1)]):
        with pytest.raises(ResourceError, match=r"need 5 GiB of memory \(4 GiB of it once per host\) on rank"):
            check_memory(found, tight, "n vertices")
    assert seen[0] == [5 * GIB - 1, 5 * GIB - 1, 8 * GIB]


def test_every_gpu_has_a_copy_of_what_ranks_share():
    found, _ = estimate([GIB, GIB], [GIB, GIB], shared=4 * GIB)
    check_memory(found, [gpu("GPU-0", 5 * GIB, shared=6 * GIB), gpu("GPU-1", 5 * GIB, shared=6 * GIB)], "n vertices")
    for memories in (
        [gpu("GPU-0", 5 * GIB - 1), gpu("GPU-1", 5 * GIB)],
        [gpu("GPU-0", 9 * GIB), gpu("GPU-0", 9 * GIB)],  # two ranks on one GPU
        [gpu("GPU-0", 5 * GIB, shared=6 * GIB - 2), gpu("GPU-1", 5 * GIB, shared=6 * GIB - 2)],
    ):
        with pytest.raises(ResourceError):
            check_memory(found, memories, "n vertices")


def test_the_refusal_says_what_would_fit():
    found, _ = estimate([3 * GIB])
    with pytest.raises(ResourceError) as error:
        check_memory(found, [cpu(shared=2 * GIB)], "40 cities")
    assert str(error.value) == (
        "40 cities need 3 GiB of memory on rank 0, where 2 GiB is free; at most "
        "17 cities fit on 1 rank with this memory; use more ranks on more nodes"
    )
    assert memory_line(estimate([GIB, GIB])[0], [cpu(), cpu()]) == "memory: 1 GiB per rank of 4 GiB free, 2 GiB in all"


@pytest.mark.parametrize(("text", "count"), [
    ("80G", 80 * GIB), ("512 MiB", 512 * 2**20), ("1e9", 10**9), ("1.5GB", 3 * GIB // 2), ("2T", 2**41), ("100", 100),
])
def test_sizes(text, count):
    assert parsed_size(text) == count


@pytest.mark.parametrize("text", ["", "G", "much", "-1G", "0", "nan", "inf", "1e30"])
def test_what_is_no_size(text):
    with pytest.raises(ValueError):
        parsed_size(text)


@pytest.mark.parametrize(("n", "symmetric", "high", "least"), [  # MiB that the tables take at least
    (9, False, 900, 0), (21, False, 900, 0), (25, False, 2 * 10**9, 200), (26, False, 900, 200), (26, True, 900, 130),
    (27, True, 2 * 10**9, 550), (28, True, 900, 550),
])
@pytest.mark.slow
def test_a_process_takes_what_was_foreseen(n, symmetric, high, least, hpcsolve, tmp_path):
    """The tolerance is small beside `least`, so an estimate that forgot the tables, or half of them, fails."""
    matrix = f'{{ generate = "random-matrix", n = {n}, high = {high}, symmetric = {str(symmetric).lower()} }}'
    (tmp_path / "job.toml").write_text(f'algorithm = "held-karp"\ninstance = {matrix}\n')
    done = hpcsolve("run", "job.toml", "--output", "out.h5", "--device", "cpu", cwd=tmp_path, own_process=True)
    assert done.returncode == 0, done.stderr
    ranks = read_result(tmp_path / "out.h5").groups["ranks"]
    foreseen, taken, peak = (
        int(ranks[name].values[0]) for name in ("estimated_bytes", "peak_resident_bytes", "peak_bytes")
    )
    assert peak >= least * MIB
    assert abs(taken - foreseen) <= max(0.05 * foreseen, 40 * MIB)


GENERATORS = {name: kind for kind in ("tsp", "graph", "steiner") for name in makers(kind)}
SIZES = {
    "rmat-graph": {"scale": 18}, "grid-graph": {"rows": 900, "columns": 900}, "hub-graph": {"n": 10**6},
    "road-steiner": {"n": 10**6, "terminals": 5}, "power-law-steiner": {"n": 10**6, "edges": 2 * 10**6, "terminals": 5},
}


def refused(call, monkeypatch, free=60 * MIB):
    """Return the message with which a call is refused where so much is free. It must not take memory before."""
    with monkeypatch.context() as patch:
        patch.setattr(memory, "available_memory", lambda: free)
        tracemalloc.start()
        with pytest.raises(ResourceError) as error:
            call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 16 * MIB and "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("name", GENERATORS)
def test_generators_compare_what_they_need(name, monkeypatch):
    keys = SIZES.get(name, {"n": 3000 if name == "random-matrix" else 10**6})
    said = refused(lambda: generate(GENERATORS[name], name, **keys), monkeypatch)
    assert "and 60 MiB is free; take at most " in said and said.endswith(", or run it where more is free")


def test_a_refusal_of_cities_names_the_largest_number(monkeypatch):
    """Of 60 MiB 32 MiB are for the code, and a cost of places takes 10 bytes: 1713^2 * 10 < 28 MiB < 1714^2 * 10."""
    said = refused(lambda: from_places(np.zeros(3000), np.arange(3000) / 100).cost, monkeypatch)
    assert said == ("the cost matrix of 3000 cities and the run's own code take 118 MiB of memory, and 60 MiB is free; "
                    "take at most 1713 cities, or run it where more is free")
    for dtype, most in ((np.int16, 1713), (float, 856)):
        table = np.zeros((2000, 2000), dtype)
        assert f"take at most {most} cities, or" in refused(lambda table=table: from_matrix(table), monkeypatch)


KNOWN = {one.name: one for one in (*TSP_FORMATS, *GRAPH_FORMATS)}


@pytest.mark.parametrize("sample", [one for one in samples() if one.format in KNOWN and not one.beside],
                         ids=lambda one: one.name)
def test_files_are_compared_by_size_and_format(sample, monkeypatch, tmp_path):
    """With a byte less than the format takes the file is refused, and with so much it is read."""
    path, found = tmp_path / sample.file, KNOWN[sample.format]
    path.write_bytes(sample.content)
    file = open_file(str(path))
    least = memory.OWN_CODE + int(found.growth * len(file.content if found.binary else file.as_text().content))
    said = refused(lambda: sample.reader(str(path)), monkeypatch, least - 1)
    assert said.startswith(f"reading {path} and the run's own code take 32 MiB of memory, ")
    monkeypatch.setattr(memory, "available_memory", lambda: least + 4096)
    sample.reader(str(path))


PEAKS = """
import numpy as np
from hpcsolve import memory
from hpcsolve.problems.generate import generate
from hpcsolve.problems.tsp import from_matrix
needed = []
import hpcsolve.problems.tsp, hpcsolve.problems.generate.random_integers, hpcsolve.problems.generate.tsp
for module in (hpcsolve.problems.tsp, hpcsolve.problems.generate.random_integers, hpcsolve.problems.generate.tsp):
    module.require_free = lambda need, *_: needed.append(need)
def field(name):
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith(name))
table = np.random.default_rng(1).integers(1, 9999, (1400, 1400)) / 4
generate("graph", "road-graph", n=50), generate("tsp", "uniform-tsp", n=5)  # with their imports
places = generate("tsp", "uniform-tsp", n=2000)
for make in (lambda: places.cost, lambda: generate("tsp", "uniform-tsp", n=300000),
             lambda: generate("tsp", "clustered-tsp", n=100000), lambda: generate("tsp", "random-matrix", n=1400),
             lambda: from_matrix(table), lambda: generate("graph", "road-graph", n=40000),
             lambda: generate("graph", "road-network", n=40000),
             lambda: generate("graph", "rmat-graph", scale=13),
             lambda: generate("graph", "grid-graph", rows=300, columns=300)):
    needed.clear()
    before = memory.resident_memory()
    open("/proc/self/clear_refs", "w").write("5")
    found = make()
    print(needed[0], field("VmHWM") - before)
    del found
"""


def test_what_making_an_instance_takes_was_foreseen():
    """Within a third: an estimate that forgot the costs, or counted them twice, fails."""
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("the system does not measure a peak anew")
    done = subprocess.run([sys.executable, "-c", PEAKS], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        needed, taken = map(int, line.split())
        assert 0.66 * taken <= needed <= 1.5 * taken, done.stdout
    assert len(done.stdout.splitlines()) == 9


ANTS = 'algorithm = "ant-colony"\ninstance = { generate = "uniform-tsp", n = 3000 }\nthreads = 1\n'


COSTS = "the cost matrix of 3000 cities and the run's own code take 118 MiB of memory"
CITIES_ALONE = "generating 3000 cities and the run's own code take 32.1 MiB of memory"
LIBRARIES = "hpcsolve's libraries take {} MiB of memory, and "


@pytest.mark.parametrize(("mebibytes", "said"),
                         [(20, LIBRARIES.format(20)), (50, CITIES_ALONE), (90, COSTS), (130, COSTS)])
def test_a_group_of_processes_with_little_memory_is_no_reason_to_be_killed(mebibytes, said, tmp_path):
    """The kernel kills what takes more than its control group may: 3000 cities were, while they were generated."""
    group = Path(f"/sys/fs/cgroup/memory/hpcsolve-test-{os.getpid()}")
    try:
        group.mkdir()
    except OSError:
        pytest.skip("control groups of memory (version 1) cannot be made here")
    (tmp_path / "job.toml").write_text(ANTS)
    build_for(load_job(str(tmp_path / "job.toml"), device="cpu"))  # a compiler takes more memory
    try:
        (group / "memory.limit_in_bytes").write_text(str(mebibytes * MIB))
        inside = f"import os; open('{group}/tasks', 'w').write(str(os.getpid())); " \
                 "from hpcsolve.cli import main; raise SystemExit(main(['run', 'job.toml', '--device', 'cpu']))"
        done = subprocess.run([sys.executable, "-c", inside], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    finally:
        group.rmdir()
    assert done.returncode == 3, done
    assert f"error: {said}" in done.stderr


def test_libraries_are_not_loaded_where_they_have_no_room():
    """OpenBLAS ended the process with exit code 1 in 80 to 95 MiB."""
    program = "import resource; resource.setrlimit(resource.RLIMIT_AS, (90 * 2**20,) * 2); " \
              "from hpcsolve.cli import main; raise SystemExit(main(['info']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3 and done.stderr.startswith("hpcsolve: error: " + LIBRARIES.format(104))
    assert done.stderr.endswith(" is free (ulimit -v); run it where more is free\n") and done.stderr.count("\n") == 1


def test_a_refusal_without_room_for_any_size_names_none(monkeypatch):
    table = np.zeros((2000, 2000))
    said = refused(lambda: from_matrix(table), monkeypatch, 20 * MIB)
    assert said.endswith("and 20 MiB is free; run it where more is free")


def test_threads_that_cannot_be_started_end_no_process(tmp_path):
    """OpenMP's library would, with the exit code of a failed check. Each thread has a stack of some megabytes."""
    program = "import resource; from hpcsolve.device.host import HostDevice; device = HostDevice(64);" \
              "HostDevice(1).kernel('paths/near_far', 'near_far_solve_u4');" \
              "limit = 96 * 2**20 + int(open('/proc/self/statm').read().split()[0]) * 4096;" \
              "resource.setrlimit(resource.RLIMIT_AS, (limit, limit));" \
              "device.kernel('paths/near_far', 'near_far_solve_u4')"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    said = done.stderr.splitlines()[-1]
    assert said.startswith("hpcsolve.errors.ResourceError: 64 threads cannot be started, only "), done
    assert "libgomp" not in done.stderr


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
