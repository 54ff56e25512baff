"""GPUs of the stub driver give the CPU's answer on the command line, and refusals are one line."""

import re
import sys

import pytest

from hpcsolve.output.reader import read_result
from tests.cli.seen import error_line, solution

JOB = 'algorithm = "{}"\noutput = "out.h5"\ninstance = {{ generate = {} }}\n{}\n'
TREE = '"power-law-steiner", n = 90, edges = 250, terminals = 15'
NEEDS_NO_GPU = ("fast", "best")
ANTS = "[ant-colony]\nants = 3\ncolonies = 6\nvariant = '{}'\n[stop]\niterations = 3"
JOBS = {
    "matrix": JOB.format("held-karp", '"random-matrix", n = 15, high = 30', ""),
    "places": JOB.format("held-karp", '"uniform-tsp", n = 17, seed = 5', ""),
    **{mode: JOB.format("steiner-kmb", TREE, f'[steiner-kmb]\nmode = "{mode}"') for mode in ("fast", "kmb", "best")},
    **{name: JOB.format("ant-colony", '"clustered-tsp", n = 70, seed = 3', ANTS.format(name))
       for name in ("mmas", "ant-system")},
}


@pytest.fixture
def start(stub, start_ranks, tmp_path):
    """`start(ranks, gpus, *arguments, **settings of the stub)` runs the job. A block is one thread."""
    (tmp_path / "job.toml").write_text(JOBS["matrix"])

    def run(ranks, gpus, *arguments, command="run", **settings):
        command = (sys.executable, "-m", "hpcsolve", command, "job.toml", *arguments)
        environment = stub.environment(gpus, nvcc="single", **settings)
        return start_ranks(ranks, *command, timeout=200, cwd=tmp_path, env=environment)

    return run


def parts_in(done):
    """Return the lines of a log that say which parts of a job run on the GPU."""
    return [line for line in done.stdout.splitlines() if line.startswith("parts:")]


@pytest.mark.parametrize("name", JOBS)
def test_gpus_give_the_cpus_answer(name, start, tmp_path):
    (tmp_path / "job.toml").write_text(JOBS[name])
    more = [(1, 1, "cuda"), (4, 4, "cuda"), (3, 4, "auto")] if "held-karp" in JOBS[name] else []
    runs = [(1, 1, "cpu"), (2, 2, "cuda"), *more]
    for ranks, gpus, device in runs:
        done = start(ranks, gpus, "--device", device, "--output", f"{ranks}{device}.h5")
        assert done.returncode == 0, done.stdout + done.stderr
        ranks_of = read_result(tmp_path / f"{ranks}{device}.h5").groups["ranks"]
        assert len(set(ranks_of["uuid"].values)) == ranks
        assert all(text.startswith("GPU-") == (device != "cpu") for text in ranks_of["uuid"].values)
        assert (ranks_of["peak_bytes"].values <= ranks_of["estimated_bytes"].values).all()
        assert name in NEEDS_NO_GPU or (ranks_of["seconds_copy"].values > 0).all()
    found = [solution(tmp_path / f"{ranks}{device}.h5") for ranks, _, device in runs]
    assert all(other == found[0] for other in found)
    [parts] = parts_in(done)
    end = f"; mode {name} computes nearly all on the host's cores, and needs no GPU"
    assert parts.endswith(end) == (name in NEEDS_NO_GPU) and ("needs no GPU" in parts) == parts.endswith(end)
    assert re.search(r"^GPUs:   computed \d+ %, copied \d+ % and waited \d+ % of the run's time$", done.stdout, re.M)
    if more:
        assert [parts] == ["parts:  on the GPU, as needed: held_karp/held_karp; on the host's cores: Python"]


@pytest.mark.parametrize(("ranks", "gpus", "arguments", "settings", "message"), [
    (2, 1, ["--device", "cuda"], {}, "would share GPU 0"),
    (2, 0, ["--device", "cuda"], {}, "the driver shows no GPU"),
    (1, 2, ["--device", "cuda:7"], {}, "there is no GPU cuda:7; visible are GPU 0"),
    (1, 1, ["--device", "cuda", "--set", "instance.n=30", "--set", "held-karp.method=lattice"], {"memory": 64 << 20},
     "30 cities need"),
])
def test_each_refusal_is_one_line(ranks, gpus, arguments, settings, message, start, tmp_path):
    done = start(ranks, gpus, *arguments, **settings)
    assert done.returncode == 3, done.stdout + done.stderr
    assert message in error_line(done)
    assert [path.name for path in tmp_path.iterdir()] == ["job.toml"]


def test_two_ranks_share_a_gpu_if_they_may(start, tmp_path):
    done = start(2, 1, "--device", "cuda", "--set", "share-gpu=true")
    assert done.returncode == 0, done.stderr
    assert len(set(read_result(tmp_path / "out.h5").value("ranks", "uuid"))) == 1


def test_a_compiler_that_fails_is_exit_4(start, tmp_path):
    compiler = tmp_path / "broken-nvcc"
    script = 'test "$1" = --version && exit 0\necho "held_karp.cu(3): error: no such thing" >&2\nexit 1\n'
    compiler.write_text(f"#!/bin/sh\n{script}")
    compiler.chmod(0o755)
    done = start(2, 2, "--device", "cuda", HPCSOLVE_NVCC=compiler)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "could not compile held_karp/held_karp.cu: held_karp.cu(3): error: no such thing" in done.stderr
    assert done.stderr.count("hpcsolve: error:") == 1 and not (tmp_path / "out.h5").exists()


ROWS = """algorithm = "shortest-paths"
instance = { generate = "road-graph", n = 30000, seed = 2 }
output = "out.h5"
[shortest-paths]
sources = [%s]
"""


@pytest.mark.parametrize("fail_pinned", [0, 1])
def test_rows_arrive_with_and_without_page_locked_memory(fail_pinned, start, tmp_path):
    """Twelve rows at a time, as many as the stub GPU has blocks, are more than the 1 MiB that goes in pieces."""
    (tmp_path / "job.toml").write_text(ROWS % ", ".join(map(str, range(1, 31))))
    runs = {device: start(1, 1, "--device", device, "--output", f"{device}.h5", fail_pinned=fail_pinned)
            for device in ("cpu", "cuda")}
    assert [done.returncode for done in runs.values()] == [0, 0], runs["cuda"].stderr
    assert solution(tmp_path / "cuda.h5") == solution(tmp_path / "cpu.h5")
    [line] = parts_in(runs["cuda"])
    on_gpu, on_host = line.removeprefix("parts:  on the GPU, as needed: ").split("; on the host's cores: ")
    assert on_host == "host/contraction, host/hierarchy, Python" and "paths/phast" in on_gpu.split(", ")
    assert parts_in(runs["cpu"]) == []
    contents = read_result(tmp_path / "cuda.h5")
    assert contents.value("ranks", "seconds_copy") > 0
    assert contents.value("ranks", "peak_bytes") <= contents.value("ranks", "estimated_bytes")
    slower = "only 0 bytes of host memory could be page-locked, so copies from the GPU are slower"
    assert (slower in runs["cuda"].stdout) == fail_pinned and slower not in runs["cpu"].stdout


@pytest.mark.parametrize(("memory", "fits"), [(20 << 20, True), (3 << 20, False)])
def test_an_estimate_and_a_run_count_the_same_memory(memory, fits, start, tmp_path):
    """The rows of 400 sources take 24 MB of the host, more than the GPU has, whose memory limits how many are there."""
    (tmp_path / "job.toml").write_text(ROWS % ", ".join(map(str, range(1, 401))))
    small = ("--device", "cuda", "--set", "instance.n=15000")  # a hierarchy that is not kept for the second command
    estimate, run = (start(1, 1, *small, command=name, memory=memory) for name in ("estimate", "run"))
    line, = (line for line in estimate.stdout.splitlines() if line.startswith("fits"))
    assert line.split()[1] == ("yes:" if fits else "no:") and run.returncode == (0 if fits else 3), run.stderr
    if fits:
        needed = re.search(r"^memory of all ranks     (.*)$", estimate.stdout, re.M)
        assert needed and f"memory: {needed[1]} per rank" in run.stdout
