"""Which device a rank gets: a table of requests, ranks, hosts and GPUs. No GPU and no PyCUDA are needed for it."""

import os
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.device.select import (
    Gpu,
    check_request,
    choose,
    least_share,
    memory_for_rank,
    named_gpu,
    nearest_gpus,
    numa_distance,
    on_all_ranks,
    requested_threads,
    share_of_cores,
)
from hpcsolve.errors import EnvironmentFault, InputError, ResourceError
from tests.thread_comm import on_hosts

GIB = 1 << 30


def gpu(index, number=None, host="a"):
    """Return GPU `number` of a host, visible as `index`."""
    number = index if number is None else number
    return Gpu(index, "Test GPU", f"GPU-{number:02x}{ord(host):02x}0000-0000", f"0000:{number:02x}:00.0", GIB, (9, 0))


def nothing():
    """Raise what `list_gpus` raises on a machine without GPUs."""
    raise ResourceError("the driver shows no GPU")


def select(hosts, request, see, **options):
    """Return the choice, or the error, of every rank. `hosts` has a letter per rank, `see` lists its GPUs."""

    def body(comm):
        return choose(request, comm, survey=lambda: see(comm), host=comm.host, **options)

    return on_hosts(list(hosts), body)


def uuids(choices):
    """Return number and host of the chosen GPUs."""
    return [choice.gpu.uuid[4:6] + chr(int(choice.gpu.uuid[6:8], 16)) for choice in choices if choice.gpu]


@pytest.mark.parametrize("request_", ["cuda", "auto", "CUDA"])
@pytest.mark.parametrize(("hosts", "gpus", "expected"), [
    ("a", 1, ["00a"]),
    ("a", 4, ["00a"]),
    ("aaaa", 4, ["00a", "01a", "02a", "03a"]),
    ("aabb", 2, ["00a", "01a", "00b", "01b"]),
    ("abab", 2, ["00a", "00b", "01a", "01b"]),
    ("ab", 1, ["00a", "00b"]),
])
def test_each_rank_gets_a_gpu_of_its_host(request_, hosts, gpus, expected):
    assert uuids(select(hosts, request_, lambda comm: [gpu(i, host=comm.host) for i in range(gpus)])) == expected


def test_a_launcher_may_show_each_rank_its_own_gpu_only():
    choices = select("aabb", "cuda", lambda comm: [gpu(0, comm.local_rank + 4, comm.host)])
    assert uuids(choices) == ["04a", "05a", "04b", "05b"]


@pytest.mark.parametrize(("gpus_of_nodes", "nodes_of_ranks", "expected"), [
    ("0011", "0011", [0, 1, 2, 3]),
    ("1100", "0011", [2, 3, 0, 1]),  # GPUs are numbered from the other socket
    ("0011", "0101", [0, 2, 1, 3]),  # ranks are dealt to the sockets in turn
    ("0000", "0011", [0, 1, 2, 3]),
    ("01", "111", [1, 0, 1]),  # more ranks than GPUs: the nearest of those that one rank has
])
def test_each_rank_gets_the_nearest_gpu_that_is_free(gpus_of_nodes, nodes_of_ranks, expected):
    def far(comm):
        return lambda gpu: 10 if gpus_of_nodes[gpu.index] == nodes_of_ranks[comm.rank] else 21

    def body(comm):
        return choose("cuda", comm, survey=lambda: [gpu(i) for i in range(len(gpus_of_nodes))], distance=far(comm),
                      host="a", share_gpu=True)

    choices = on_hosts(["a"] * len(nodes_of_ranks), body)
    assert [choice.gpu.index for choice in choices] == expected
    assert ("the nearest of those" in choices[0].reason) == (len(set(gpus_of_nodes)) > 1)


@given(st.lists(st.lists(st.integers(10, 30), min_size=4, max_size=4), min_size=1, max_size=4))
def test_no_gpu_is_shared_while_another_is_free(distances):
    sights = [[(f"GPU-{index}", far) for index, far in enumerate(row)] for row in distances]
    found = nearest_gpus(sights)
    assert len(set(found)) == len(found)
    assert sights[0][found[0]][1] == min(distances[0])


def test_the_distance_of_a_gpu_is_that_of_linux(tmp_path, monkeypatch):
    one = gpu(0, 0x3B)
    device, nodes = tmp_path / "bus/pci/devices/0000:3b:00.0", tmp_path / "devices/system/node"
    for node, cores, row in ((0, (0, 1), "10 21"), (1, (2, 3), "21 10")):
        for core in cores:
            (nodes / f"node{node}" / f"cpu{core}").mkdir(parents=True)
        (nodes / f"node{node}" / "distance").write_text(f"{row}\n")
    device.mkdir(parents=True)
    for text, cores, expected in (("1", {2}, 10), ("1", {0, 1}, 21), ("0", {0, 3}, 10), ("-1", {0}, 0), ("1", {9}, 0)):
        (device / "numa_node").write_text(f"{text}\n")
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: cores)
        assert numa_distance(one, tmp_path) == expected
    assert numa_distance(gpu(1, 0x5E), tmp_path) == 0


def test_auto_says_which_and_why():
    (choice,) = select("a", "auto", lambda comm: [gpu(0)])
    assert choice.gpu == gpu(0) and "auto: every rank sees a GPU" in choice.reason and gpu(0).uuid in choice.reason
    (choice,) = select("a", "auto", lambda comm: nothing())
    assert choice.gpu is None and "auto: the driver shows no GPU" in choice.reason


def test_auto_is_one_kind_for_all_ranks():
    choices = select("aab", "auto", lambda comm: [gpu(0)] if comm.host == "a" else nothing())
    assert [choice.gpu for choice in choices] == [None] * 3
    assert all("rank 2: the driver shows no GPU" in choice.reason for choice in choices)


def refused(results, kind):
    """Return the one message that every rank raised."""
    assert {type(result) for result in results} == {kind}, results
    lines = {str(result) for result in results}
    assert len(lines) == 1 and "\n" not in min(lines)
    return lines.pop()


@pytest.mark.parametrize(("hosts", "request_", "gpus", "ranks"), [
    ("aa", "cuda", 1, "ranks 0 and 1 on a"),
    ("aaa", "cuda", 2, "ranks 0 and 2 on a"),
    ("abb", "cuda", 1, "ranks 1 and 2 on b"),
    ("aa", "cuda:1", 2, "ranks 0 and 1 on a"),
    ("aa", "auto", 1, "ranks 0 and 1 on a"),
])
def test_two_ranks_on_one_gpu_are_refused_unless_they_may(hosts, request_, gpus, ranks):
    def see(comm):
        return [gpu(i, host=comm.host) for i in range(gpus)]

    line = refused(select(hosts, request_, see), ResourceError)
    assert line.startswith(f"{ranks} would share GPU") and "Test GPU" in line and "share-gpu = true" in line
    assert len(uuids(select(hosts, request_, see, share_gpu=True))) == len(hosts)


def test_cuda_is_never_replaced():
    results = select("aab", "cuda", lambda comm: [gpu(comm.local_rank)] if comm.host == "a" else nothing())
    said = "the driver shows no GPU; to run on CPU cores instead, say --device cpu"
    assert refused(results, ResourceError) == f"rank 2: {said}"
    assert refused(select("a", "cuda:0", lambda comm: nothing()), ResourceError) == said


@pytest.mark.parametrize(
    ("request_", "index"),
    [("cuda:0", 0), ("cuda:2", 2), ("GPU-0161", 1), ("gpu-02610000-0000", 2), ("GPU-026", 2)],
)
def test_a_gpu_by_number_or_uuid(request_, index):
    assert named_gpu(request_, [gpu(0), gpu(1), gpu(2)]) == gpu(index)


@pytest.mark.parametrize(
    ("request_", "words"),
    [("cuda:3", "no GPU cuda:3"), ("GPU-0", "is the beginning of 3 UUIDs"), ("GPU-ff", "no GPU GPU-ff"),
     ("MIG-01", "no GPU")],
)
def test_no_such_gpu_names_the_visible_ones(request_, words):
    with pytest.raises(ResourceError, match=words) as caught:
        named_gpu(request_, [gpu(0), gpu(1), gpu(2)])
    assert all(gpu(i).uuid in str(caught.value) for i in range(3))


@pytest.mark.parametrize("request_", ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:0,1", "GPU-", "GPU-xyz", "cpu0"])
def test_a_request_that_names_no_device_is_bad_input(request_):
    with pytest.raises(InputError, match="auto, cpu, cuda"):
        check_request(request_)
    assert isinstance(select("a", request_, lambda comm: [gpu(0)])[0], InputError)


@pytest.mark.parametrize(("masks", "expected"), [
    ([{0, 1, 2, 3}], [4]),
    ([{0, 1, 2, 3}] * 2, [2, 2]),
    ([{0, 1, 2, 3, 4}] * 2, [3, 2]),
    ([{0, 1}] * 5, [1, 1, 1, 1, 1]),
    ([{0, 1}, {2, 3}], [2, 2]),
    ([{0}, {1, 2, 3}], [1, 3]),
    ([{0, 1}, {0, 1}, {2, 3}, {2, 3}], [1, 1, 1, 1]),
    ([{0, 1}, {0}], [1, 1]),
])
def test_equal_masks_are_divided_and_disjoint_ones_used_whole(masks, expected):
    cores = [frozenset(mask) for mask in masks]
    assert [share_of_cores(cores, position) for position in range(len(cores))] == expected


@given(st.lists(st.frozensets(st.integers(0, 11), min_size=1), min_size=1, max_size=6))
def test_no_core_is_given_twice(masks):
    shares = [share_of_cores(masks, position) for position in range(len(masks))]
    assert all(1 <= share <= len(mask) for share, mask in zip(shares, masks, strict=True))
    # A rank without a core of its own gets one thread all the same; the others together have every core once.
    cores = len(frozenset().union(*masks))
    assert cores <= sum(shares) <= cores + len(masks) - 1


def test_ranks_on_the_cpu_share_its_cores(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    choices = select("aaab", "cpu", lambda comm: nothing())
    assert [choice.threads for choice in choices] == [3, 3, 2, 8]
    assert choices[0].reason == "cpu (as asked): 3 threads (its share of 8 cores for 3 ranks)"


@pytest.mark.parametrize(
    ("threads", "variable", "expected"),
    [(None, None, 0), (3, None, 3), (3, "5", 3), (None, "5", 5), (None, "4,2", 4), (None, "", 0)],
)
def test_threads_that_were_asked_for(threads, variable, expected):
    environment = {} if variable is None else {"OMP_NUM_THREADS": variable}
    assert requested_threads(threads, environment)[0] == expected


@pytest.mark.parametrize(("threads", "variable"), [(0, "1"), (-2, "1"), (None, "0"), (None, "many"), (None, "-1")])
def test_threads_that_make_no_sense(threads, variable):
    with pytest.raises(InputError, match="at least 1"):
        requested_threads(threads, {"OMP_NUM_THREADS": variable})


def test_the_threads_asked_for_are_used(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert [choice.threads for choice in select("aa", "cpu", lambda comm: nothing())] == [7, 7]
    assert [choice.threads for choice in select("aa", "cpu", lambda comm: nothing(), threads=2)] == [2, 2]


@pytest.mark.parametrize(("request_", "visible"), [("cpu", 0), ("cuda", 4), ("auto", 4)])
def test_threads_are_counted_and_checked_beside_a_gpu_too(request_, visible, monkeypatch):
    def see(comm):
        return [gpu(i) for i in range(visible)] or nothing()

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    choices = select("aaa", request_, see)
    assert [choice.threads for choice in choices] == [3, 3, 2]
    assert choices[0].reason.endswith("3 threads (its share of 8 cores for 3 ranks)")
    assert [choice.threads for choice in select("aa", request_, see, threads=5)] == [5, 5]
    assert "threads = 60000: it must be at" in refused(select("aa", request_, see, threads=60000), InputError)


def test_the_first_error_is_everybodys_and_the_others_give_up():
    given_up = []

    def body(comm):
        def act():
            if comm.rank in (1, 2):
                raise EnvironmentFault(f"broken {comm.rank}")
            return comm.rank

        return on_all_ranks(comm, act, given_up.append)

    assert refused(on_hosts(["a"] * 4, body), EnvironmentFault) == "rank 1: broken 1"
    assert sorted(given_up) == [0, 3]


def test_ranks_that_share_a_device_share_its_memory():
    """Ranks of two hosts: of three GPUs the last has two ranks. On CPUs the ranks of a host share its memory."""
    uuids = ["GPU-a", "GPU-b", "GPU-c", "GPU-c"]

    def share(comm, uuid):
        device = SimpleNamespace(info=SimpleNamespace(uuid=uuid), memory_free=lambda: 1200)
        return memory_for_rank(device, comm)  # type: ignore[arg-type]

    assert on_hosts("aabb", lambda comm: share(comm, uuids[comm.rank])) == [1200, 1200, 600, 600]
    assert on_hosts("aaab", lambda comm: share(comm, "")) == [400, 400, 400, 1200]


def test_all_ranks_plan_with_the_least_share_of_a_gpu():
    """Three ranks share a GPU of 1200 bytes, one has a GPU of 500 alone, and one has none."""
    shared = [("GPU-a", 1200), ("GPU-a", 1190), ("GPU-a", 1201)]
    assert least_share([*shared, ("GPU-b", 500), ("", 0)]) == 396
    assert least_share([*shared[:1], ("GPU-b", 500)]) == 500
    assert least_share([("", 0), ("", 0)]) == 0
