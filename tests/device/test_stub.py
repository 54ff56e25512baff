"""The CUDA device with the real PyCUDA on the stub driver, when everything works and when something fails."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.stub_driver.build import without_functions

HERE = Path(__file__).parent
PROGRAM = str(HERE / "device_program.py")


@pytest.fixture
def program(stub, run_process):
    """`program(*words, gpus=1, **settings)` runs device_program.py on the stub. Returns (exit code, output, errors)."""

    def start(*words, gpus=1, **settings):
        environment = stub.environment(gpus, **settings)
        done = run_process([sys.executable, PROGRAM, *words], timeout=60, env=environment)
        return done.returncode, done.stdout, done.stderr

    return start


@pytest.fixture
def ranks(stub, start_ranks):
    """`ranks(n, *words, gpus=1, **settings)` runs device_program.py on n ranks, as `program` does on one."""

    def start(n, *words, gpus=1, **settings):
        done = start_ranks(n, sys.executable, PROGRAM, *words, timeout=60, env=stub.environment(gpus, **settings))
        return done.returncode, done.stdout, done.stderr

    return start


@pytest.mark.parametrize("nvcc", ["threads", "single"])
def test_every_device_test_passes_on_it(stub, run_process, nvcc):
    environment = stub.environment(2, nvcc=nvcc, HPCSOLVE_TEST_DEVICE="cuda")
    files = [str(HERE / name) for name in ("test_protocol.py", "test_downloads.py", "test_cuda.py")]
    # -s: complaints of the driver and of PyCUDA go to the real stderr; there must be none.
    done = run_process([sys.executable, "-m", "pytest", "-qs", "--color=no", *files], timeout=200, env=environment)
    assert done.returncode == 0 and re.search(r"\b\d\d+ passed in", done.stdout), done.stdout + done.stderr
    assert done.stderr == ""


def one_line(errors):
    """Return the program's only line on stderr."""
    lines = errors.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("hpcsolve: error: "), errors
    return lines[0]


@pytest.mark.parametrize(
    ("request_", "uuid"),
    [("cuda", "GPU-00000000"), ("auto", "GPU-00000000"), ("cuda:2", "GPU-00000002"), ("gpu-00000001", "GPU-00000001")],
)
def test_the_gpu_that_was_asked_for(program, request_, uuid):
    code, output, errors = program(request_, gpus=3)
    assert (code, errors) == (0, "") and f"rank 0 has cuda {uuid}" in output


def test_visible_gpus_are_counted_as_the_driver_does(program):
    code, output, _ = program("cuda:0", gpus=3, CUDA_VISIBLE_DEVICES="2,1")
    assert code == 0 and "GPU-00000002" in output


@pytest.mark.parametrize(("request_", "settings", "words"), [
    ("cuda", {"gpus": 0}, "the driver shows no GPU"),
    ("cuda", {"CUDA_VISIBLE_DEVICES": ""}, "CUDA_VISIBLE_DEVICES=''"),
    ("cuda:2", {"gpus": 2}, "there is no GPU cuda:2; visible are GPU 0 (Stub GPU 0, GPU-00000000-"),
    ("GPU-0000000", {"gpus": 2}, "GPU-0000000 is the beginning of 2 UUIDs"),
    ("GPU-77", {"gpus": 2}, "there is no GPU GPU-77"),
    ("cuda", {"memory": 5000}, "8192 bytes do not fit on GPU 0 (Stub GPU 0"),
])
def test_what_is_not_there_is_refused(program, request_, settings, words):
    code, _, errors = program(request_, **settings)
    assert code == 3 and words in one_line(errors)


@pytest.mark.parametrize(("settings", "words"), [
    ({"fail_launch": 1}, "kernel minplus_multiply, 4 blocks of 64 threads, failed on GPU 0 (Stub GPU 0"),
    ({"fail_kernel": 1}, "the last kernel launched was minplus_multiply"),
    ({"fail_context": 1}, "GPU 0 (Stub GPU 0, GPU-00000000-7374-7562-0000-000000000000) cannot be used"),
    ({"nvcc": "fails"}, "nvcc could not compile held_karp/minplus.cu"),
])
def test_what_fails_is_one_line_that_names_it(program, settings, words):
    code, _, errors = program("cuda", **settings)
    assert code == 4 and words in one_line(errors)


def test_no_nvcc_is_one_line(program, tmp_path):
    code, _, errors = program("cuda", PATH=str(tmp_path))
    assert code == 4 and "nvcc is not on the PATH: install the CUDA toolkit or" in one_line(errors)
    assert "HPCSOLVE_NVCC" in errors


def test_nvcc_may_lie_off_the_path(program, stub, tmp_path):
    for name in ("g++", "as", "ld", "sh"):
        (tmp_path / name).symlink_to(shutil.which(name) or "")
    code, output, errors = program("cuda", PATH=str(tmp_path), HPCSOLVE_NVCC=str(stub.folder / "bin" / "nvcc"))
    assert (code, errors) == (0, "") and "rank 0 has cuda" in output


def test_memory_that_cannot_be_pinned_is_used_unpinned(ranks):
    code, _, errors = ranks(2, "cuda", "share", "exchange", fail_pinned=1)
    assert (code, errors) == (0, "")


def test_auto_without_a_gpu_says_why(program):
    code, output, _ = program("auto", gpus=0)
    assert code == 0 and "rank 0 has cpu" in output and "auto: the driver shows no GPU" in output


def test_no_driver_at_all(stub, run_process):
    environment = {**stub.environment(), "LD_LIBRARY_PATH": ""}
    done = run_process([sys.executable, PROGRAM, "cuda"], timeout=60, env=environment)
    if done.returncode == 0:
        pytest.skip("this machine has an NVIDIA driver and a GPU")
    assert done.returncode == 3 and ("no NVIDIA driver" in done.stderr or "shows no GPU" in done.stderr)
    one_line(done.stderr)


@pytest.mark.parametrize("missing", ["cuEventElapsedTime_v2", "cuCtxCreate_v4"])
def test_an_old_driver_is_told_apart_from_none(stub, run_process, tmp_path, missing):
    old = without_functions(stub, tmp_path, missing)
    environment = {**stub.environment(version=12040), "LD_LIBRARY_PATH": str(old)}
    done = run_process([sys.executable, PROGRAM, "cuda"], timeout=60, env=environment)
    assert done.returncode == 3
    line = one_line(done.stderr)
    assert f"driver is too old for this PyCUDA: it is for CUDA 12.4, without {missing}, and CUDA 12.8 or" in line
    assert "build PyCUDA again with the toolkit of CUDA 12.4" in line


def test_code_that_the_driver_cannot_load_is_told_with_both_versions(program, tmp_path):
    nvcc = tmp_path / "nvcc"
    nvcc.write_text("""#!/bin/sh
test "$1" = --version && echo "Cuda compilation tools, release 13.0" && exit
for word in "$@"; do last=$word; done
printf 'code of another driver' > "$last"
""")
    nvcc.chmod(0o755)
    code, _, errors = program("cuda", version=12040, HPCSOLVE_NVCC=str(nvcc))
    line = one_line(errors)
    assert code == 4 and "compiled for sm_90 by Cuda compilation tools, release 13.0, the driver for CUDA 12.4" in line


def test_ranks_get_a_gpu_each_and_talk_through_staging(ranks):
    code, output, errors = ranks(3, "cuda", "exchange", gpus=3)
    assert (code, errors) == (0, "")
    assert sorted(re.findall(r"rank (\d) has cuda GPU-0000000(\d)", output)) == [("0", "0"), ("1", "1"), ("2", "2")]


def test_two_ranks_on_one_gpu_are_refused(ranks):
    code, output, errors = ranks(3, "cuda", gpus=2)
    assert code == 3 and output == ""
    line = one_line(errors)
    assert re.search(r"ranks 0 and 2 on \S+ would share GPU 0 \(Stub GPU 0, GPU-00000000-.*share-gpu = true", line)


def test_two_ranks_share_a_gpu_if_they_may(ranks):
    code, output, errors = ranks(2, "cuda", "share", "exchange", gpus=1)
    assert (code, errors) == (0, "") and output.count("has cuda GPU-00000000") == 2


def test_one_rank_that_fails_stops_all_with_one_line(ranks):
    code, _, errors = ranks(2, "cuda", gpus=2, fail_context=2)
    assert code == 4 and "rank 1: GPU 1 (Stub GPU 1" in one_line(errors)


STICKY = str(Path(__file__).parent / "sticky_program.py")
MATRIX, GRAPH = "instance = { generate = 'random-matrix', n = 15, high = 30 }", "instance = { generate = 'road-"
JOBS = {
    "held-karp": MATRIX,
    "ant-colony": f"{MATRIX}\n[ant-colony]\nbound = false\n[stop]\niterations = 9",
    "shortest-paths": f"{GRAPH}graph', n = 300 }}\n[shortest-paths]\nsources = [1, 2, 3]",
    "steiner-kmb": f"{GRAPH}steiner', n = 300, terminals = 9 }}\n[steiner-kmb]\nmode = 'kmb'",
}


def write_job(folder, algorithm):
    """Write a job for a GPU into the folder."""
    head = f"algorithm = '{algorithm}'\noutput = 'out.h5'\ndevice = 'cuda'\n"
    (folder / "job.toml").write_text(f"{head}{JOBS[algorithm]}\n")


def test_every_use_after_a_failure_says_the_first_error(stub, run_process):
    environment = stub.environment(nvcc="single", fail_kernel=1)
    done = run_process([sys.executable, STICKY], timeout=60, env=environment)
    assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
    said = dict(line.partition(": ")[::2] for line in done.stdout.splitlines())
    first = said["launch"]
    assert first.startswith("EnvironmentFault: a copy of 16384 bytes from the GPU failed on GPU 0 (Stub GPU 0, ")
    assert first.endswith("illegal memory access was encountered (the last kernel launched was minplus_multiply)")
    quiet = {"free", "close", "stage"}
    assert {name for name, text in said.items() if text == "nothing"} == quiet
    assert {text for name, text in said.items() if name not in {*quiet, "open again", "done"}} == {first}
    assert "cannot be used" in said["open again"] and "done" in said


@pytest.mark.parametrize(
    ("algorithm", "launch"),
    [("held-karp", 1), ("held-karp", 6), ("ant-colony", 6), ("shortest-paths", 1), ("steiner-kmb", 2)],
)
def test_a_run_ends_with_that_line(algorithm, launch, stub, hpcsolve, tmp_path):
    write_job(tmp_path, algorithm)
    environment = stub.environment(nvcc="single", fail_kernel=launch)
    done = hpcsolve("run", "job.toml", "--quiet", cwd=tmp_path, env=environment, timeout=200)
    assert done.returncode == 4 and not (tmp_path / "out.h5").exists(), done.stdout + done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("hpcsolve: error: "), done.stderr
    assert "failed on GPU 0 (Stub GPU 0" in lines[0] and "(the last kernel launched was " in lines[0]


def test_all_ranks_end_with_one_line(stub, mpiexec, tmp_path):
    write_job(tmp_path, "held-karp")
    environment = stub.environment(gpus=2, nvcc="single", fail_kernel=3)
    done = mpiexec(2, "run", "job.toml", "--quiet", cwd=tmp_path, env=environment, timeout=200)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "failed on GPU" in done.stderr and "Traceback" not in done.stderr and "PyCUDA" not in done.stderr
