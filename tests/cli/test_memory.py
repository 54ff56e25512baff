"""The estimate against free memory, for hosts and GPUs that are not here."""

import pytest

from hpcsolve.algorithms.base import Estimate
from hpcsolve.errors import ResourceError
from hpcsolve.output.reader import read_result
from hpcsolve.runner.forecast import parsed_size
from hpcsolve.runner.memory import RankMemory, check_memory, free_bytes, memory_line

MIB, GIB = 2**20, 2**30


def estimate(device, host=None, shared=0):
    host = host or [0] * len(device)
    seen = []

    def largest(free):
        seen.append(list(free))
        return 17

    found = Estimate(tuple(device), tuple(host), 1, "op", (0,) * len(device), {}, largest, shared)
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
def test_a_process_takes_what_was_foreseen(n, symmetric, high, least, hpcsolve, tmp_path):
    """The tolerance is small beside `least`, so an estimate that forgot the tables, or half of them, fails."""
    matrix = f'{{ generate = "random-matrix", n = {n}, high = {high}, symmetric = {str(symmetric).lower()} }}'
    (tmp_path / "job.toml").write_text(f'algorithm = "held-karp"\ninstance = {matrix}\n')
    done = hpcsolve("run", "job.toml", "--output", "out.h5", "--device", "cpu", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    ranks = read_result(tmp_path / "out.h5").groups["ranks"]
    foreseen, taken, peak = (
        int(ranks[name].values[0]) for name in ("estimated_bytes", "peak_resident_bytes", "peak_bytes")
    )
    assert peak >= least * MIB
    assert abs(taken - foreseen) <= max(0.05 * foreseen, 40 * MIB)
