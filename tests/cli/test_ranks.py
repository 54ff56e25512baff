"""The command line on 1 to 5 ranks writes the same bytes to /solution and one consistent row per rank to /ranks."""

import sys

import numpy as np
import pytest

from hpcsolve.output.reader import read_result

mpi_library = pytest.importorskip("hpcsolve.parallel.mpi", reason="no mpi4py (extra `local`)").mpi_library

JOB = 'algorithm = "held-karp"\ninstance = {}\noutput = "out.h5"\n\n[held-karp]\n{}\n'
CASES = {"one-way": (1, 2, 3, 4, 5), "all equal": (1, 2, 3, 4, 5), "open": (1, 3), "tiny": (1, 4)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of jobs with many ties, with fixed ends, and with fewer cities than ranks."""
    path = tmp_path_factory.mktemp("ranks")
    np.save(path / "equal.npy", np.full((15, 15), 7))
    jobs = {
        "one-way": ('{ generate = "random-matrix", n = 20, high = 30 }', ""),
        "all equal": ('"equal.npy"', ""),
        "open": ('{ generate = "clustered-tsp", n = 19, seed = 3 }', 'path = "open"\nstart = 4'),
        "tiny": ('{ generate = "uniform-tsp", n = 3 }', ""),
    }
    for name, (instance, table) in jobs.items():
        (path / f"{name}.toml").write_text(JOB.format(instance, table))
    return path


def solution(path):
    return {name: (column.values.dtype, column.values.shape, column.values.tobytes(), column.description)
            for name, column in read_result(path).groups["solution"].items()}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.slow
def test_the_answer_does_not_depend_on_the_ranks(name, folder, mpiexec, test_device):
    found = []
    for ranks in CASES[name]:
        out = folder / f"{name}-{ranks}.h5"
        run = ("run", f"{name}.toml", "--device", test_device, "--output", out, "--set", "share-gpu=true")
        done = mpiexec(ranks, *run, cwd=folder, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"ranks:  {ranks} (" in done.stdout and done.stdout.count("PASS") == 1
        idle = f"idle:   {ranks - 1} of {ranks} ranks have no work"
        assert (idle in done.stdout) == (name == "tiny" and ranks > 1)
        found.append(solution(out))
        check_ranks(read_result(out), ranks)
    assert all(other == found[0] for other in found)
    if name == "all equal":
        assert read_result(folder / f"{name}-1.h5").attributes["cost"] == 7 * 15


def check_ranks(contents, ranks):
    """Check that /ranks has a row per rank, and that no rank took more memory than estimated."""
    columns = {name: column.values for name, column in contents.groups["ranks"].items()}
    assert all(len(values) == ranks for values in columns.values())
    assert columns["rank"].tolist() == list(range(ranks))
    assert (columns["peak_bytes"] <= columns["estimated_bytes"]).all()
    assert (columns["seconds_run"] >= columns["seconds_kernel"]).all()
    assert contents.value("provenance", "mpi") == library(ranks)


def library(ranks):
    """What is said of MPI on so many ranks."""
    return mpi_library() if ranks > 1 else "not started: one process"


def test_threads_do_not_matter_either(folder, hpcsolve, test_device):
    outs = [folder / f"threads-{count}.h5" for count in (1, 2, 3)]
    for count, out in enumerate(outs, 1):
        run = ("run", "all equal.toml", "--device", test_device, "--set", f"threads={count}", "--output", out)
        assert hpcsolve(*run, cwd=folder).returncode == 0
    assert len({str(solution(out)) for out in outs}) == 1


def test_a_refusal_reaches_all_ranks(folder, mpiexec, test_device):
    big = ("instance.n=40", "held-karp.method=lattice", "share-gpu=true", "output=big.h5")
    sets = [word for one in big for word in ("--set", one)]
    done = mpiexec(2, "run", "one-way.toml", "--device", test_device, *sets, cwd=folder)
    assert done.returncode == 3
    assert done.stderr.count("cities fit on 2 ranks with this memory") == 1
    assert not (folder / "big.h5").exists()


@pytest.mark.parametrize("ranks", [1, 2])
def test_info_has_a_line_a_rank(ranks, mpiexec, tmp_path):
    done = mpiexec(ranks, "info", cwd=tmp_path)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [line[:8] for line in lines if line.startswith("rank ")] == [f"rank {k}/{ranks}" for k in range(ranks)]
    assert f"MPI        {library(ranks)}" in lines


def test_log_files(folder, mpiexec, test_device):
    run = ("run", "tiny.toml", "--device", test_device, "--output", "logged.h5", "--set", "share-gpu=true")
    done = mpiexec(2, *run, "--log-dir", "logs", "--quiet", cwd=folder)
    assert done.returncode == 0
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["tour", "cost", "check", "file"]
    logs = sorted((folder / "logs").iterdir())
    assert [path.name for path in logs] == ["rank-0000.log", "rank-0001.log"]
    assert all("device of this rank" in path.read_text() for path in logs)


def test_python_on_several_ranks(start_ranks, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import hpcsolve\ncomm = hpcsolve.join()\n"
        "result = hpcsolve.solve([[0, 1, 9], [9, 0, 1], [1, 9, 0]], comm=comm, device='cpu')\n"
        "line = f'{comm.rank} {comm.size} {result.cost} {result.tour.tolist()}\\n'\n"
        "print(line, end='', flush=True)\ncomm.finalize()\n"  # at once: the ranks print at the same time
    )
    done = start_ranks(2, sys.executable, program, cwd=tmp_path)
    assert sorted(done.stdout.splitlines()) == ["0 2 3 [0, 1, 2]", "1 2 3 [0, 1, 2]"], done.stderr
