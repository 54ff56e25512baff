"""A GPU whose memory somebody else takes, or whose kernels fail: one line, and another device can go on."""

import shutil

import pytest

from tests.checkpoint.test_kills import checkpoint_files, solution

JOB = """algorithm = "ant-colony"
instance = { generate = "uniform-tsp", n = 12, seed = 1 }
output = "out.h5"
[ant-colony]
ants = 4
[stop]
iterations = 40
"""
RUN = ("run", "job.toml", "--checkpoint-interval", "0", "--device")
FAULTS = {
    "memory at once": ({"fail_memory": 1}, 3, "bytes do not fit on GPU 0 (Stub GPU 0"),
    "memory later": ({"fail_memory": 7}, 3, "bytes do not fit on GPU 0 (Stub GPU 0"),
    "launch": ({"fail_launch": 4}, 4, "failed on GPU 0 (Stub GPU 0"),
    "kernel": ({"fail_kernel": 9}, 4, "(the last kernel launched was "),
}


@pytest.fixture(scope="module")
def begun(tmp_path_factory, hpcsolve):
    """Return a folder with a job and its first checkpoint, and `/solution` of a run that was left alone."""
    folder = tmp_path_factory.mktemp("begun")
    (folder / "job.toml").write_text(JOB)
    whole = hpcsolve(*RUN, "cpu", "--output", "whole.h5", cwd=folder, timeout=250)
    assert whole.returncode == 0, whole.stderr
    expected = solution(folder / "whole.h5")
    (folder / "whole.h5").unlink()
    stopped = hpcsolve(*RUN, "cpu", "--deadline", "0.001", cwd=folder)
    assert stopped.returncode == 75 and checkpoint_files(folder), stopped.stdout
    (folder / "out.h5").unlink()  # the best so far
    return folder, expected


@pytest.mark.parametrize("kind", FAULTS)
def test_a_checkpoint_outlives_a_gpu(kind, begun, stub, tmp_path, hpcsolve):
    settings, code, words = FAULTS[kind]
    (folder, expected), work = begun, tmp_path / "work"
    shutil.copytree(folder, work)
    failed = hpcsolve(*RUN, "cuda", cwd=work, env=stub.environment(nvcc="single", **settings), timeout=200)
    assert failed.returncode == code and words in failed.stderr, failed.stdout + failed.stderr
    assert len(failed.stderr.splitlines()) == 1 and not (work / "out.h5").exists()
    assert any(name.endswith(".manifest") for name in checkpoint_files(work))
    resumed = hpcsolve(*RUN, "cpu", cwd=work)
    assert resumed.returncode == 0 and "resume: after " in resumed.stdout, resumed.stderr
    assert solution(work / "out.h5") == expected
