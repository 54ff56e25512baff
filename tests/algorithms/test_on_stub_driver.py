"""All tests of the algorithms run on the CUDA device, with the real PyCUDA on the stub driver and no GPU.

They run once with one thread a block, without the published instances, which say nothing more about a driver. The small
ones run again with the block sizes of a GPU as real threads, where each warp shuffle waits for 32 threads.
"""

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
KERNELS = HERE.parent / "kernels"
MOST = (
    "not published and not steiner_exact and not steiner_reductions and not steiner_key_vertex"
    " and not steiner_exchange and not steiner_ruin and (not test_orders or test_large_costs)"
    " and not (ranks_do_not_matter and hypercube) and not can_be_stopped_at_any_time"
)
"""The tests of `make test-gpu`, but for kernels that run on the CPU alone, most tests of the orders, and those of
Steiner trees whose ranks have CPU cores whatever the device."""
SMALL = (
    "minplus or test_the_meeting or do_not_wrap or (brute and 9 and asymmetric and planes)"
    " or test_block_sizes_do_not_matter or rows_of_a_few_threads or links_are_the_edges"
)


# Of 128 blocks of real threads nearly all would find no work in these small instances; of 8 several have some.
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("nvcc", "chosen", "resident"), [("single", MOST, 64), ("threads", SMALL, 4)], ids=["all", "block-sizes"]
)
def test_on_the_cuda_device(nvcc, chosen, resident, stub, run_process):
    environment = stub.environment(nvcc=nvcc, memory=4 * 2**30, resident=resident, HPCSOLVE_TEST_DEVICE="cuda")
    selection = ("--on-device", "-k", chosen, "--ignore", __file__)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *selection]
    finished = run_process([*command, str(HERE), str(KERNELS)], timeout=580, env=environment)
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-1000:]
    assert " passed" in finished.stdout and " failed" not in finished.stdout


THREADS = """
import hpcsolve
from hpcsolve.device import host
from hpcsolve.problems.generate.graph import power_law_steiner
opened = []
class Noted(host.HostDevice):
    def __init__(self, threads):
        opened.append(threads)
        super().__init__(threads)
host.HostDevice = Noted
instance = power_law_steiner(n=90, edges=250, terminals=15)
for keys in {}, {"threads": 3}:
    hpcsolve.solve(instance, "steiner-kmb", device="cuda", mode="best", shakes=0, **keys)
print(opened)
"""


def test_work_for_the_cpu_has_all_cores_beside_a_gpu(stub, run_process):
    environment = stub.environment(nvcc="single", OMP_NUM_THREADS="")
    done = run_process([sys.executable, "-c", THREADS], timeout=200, env=environment)
    assert done.stdout.strip() == str([len(os.sched_getaffinity(0)), 3]), done.stdout + done.stderr
