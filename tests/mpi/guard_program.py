"""Program that test_guard.py starts. One rank or all play a scenario, while the others wait in a barrier."""

import errno
import os
import signal
import sys
import threading
import time

from hpcsolve.errors import EnvironmentFault, InputError, ResourceError, agree
from hpcsolve.parallel.launch import guard, on_rank_0

SCENARIO, RANK = sys.argv[1], int(sys.argv[2])


def in_a_thread():
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    time.sleep(30)


def fail(comm):
    {
        "exception": lambda: {}["nothing"],
        "sys.exit": lambda: sys.exit(3),
        "sys.exit-0": lambda: sys.exit(0),
        "interrupt": lambda: signal.raise_signal(signal.SIGINT),
        "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "segfault": lambda: os.kill(os.getpid(), signal.SIGSEGV),
        "exit-now": lambda: os._exit(3),
        "thread": in_a_thread,
        "memory": lambda: bytearray(2**62),
        "enomem": lambda: raise_error(OSError(errno.ENOMEM, "Cannot allocate memory")),
        "threads": lambda: raise_error(RuntimeError("can't start new thread")),
        "qhull": lambda: raise_error(type("QhullError", (RuntimeError,), {})("QH6080: insufficient memory")),
        "alone": lambda: raise_input_error("job.toml", 7),
    }[SCENARIO]()


def raise_error(error):
    raise error


def raise_input_error(file, line):
    raise InputError("found by one rank only", file, line)


def main(comm):
    sys.stdout.write(f"rank {comm.rank} started\n")
    sys.stdout.flush()
    mine = RANK in (comm.rank, -1)
    if SCENARIO == "fine":
        return 0
    if SCENARIO == "code":
        return 1 if mine else 0
    if SCENARIO == "agree":
        agree(comm, ResourceError(f"rank {comm.rank} has\ntoo little memory") if mine else None)
    elif SCENARIO == "on-rank-0":
        assert on_rank_0(comm, lambda: [comm.rank, "read"]) == [0, "read"]
        assert on_rank_0(comm, lambda: None) is None
        on_rank_0(comm, lambda: raise_input_error("a.tsp", 3))
    elif SCENARIO == "memory-on-rank-0":
        on_rank_0(comm, lambda: bytearray(2**62))
    elif SCENARIO == "last-words":  # after the last collective call, on one rank
        if mine:
            raise ResourceError("disk full")
        return 0
    elif mine:
        fail(comm)
    comm.barrier()
    comm.barrier()
    return 0


def prepare():
    if SCENARIO.startswith("prepare") and RANK in (int(os.environ.get("PMI_RANK", "0")), -1):
        if SCENARIO == "prepare-bug":
            raise KeyError("compiler")
        if SCENARIO == "prepare-memory":
            raise MemoryError
        raise EnvironmentFault("g++ failed: no space")


sys.exit(guard(main, prepare))
