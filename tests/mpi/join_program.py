"""Program that test_join.py starts with altered environments. It prints its communicator and whether it has mpi4py."""

import sys

from hpcsolve.parallel.launch import guard


def main(comm):
    sys.stdout.write(f"{type(comm).__name__} {comm.rank} of {comm.size}, mpi4py {'mpi4py' in sys.modules}\n")
    return 0


sys.exit(guard(main))
