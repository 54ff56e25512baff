"""Program that test_join.py starts. It prints its communicator and whether mpi4py is imported."""

import sys

from hpcsolve.parallel.launch import guard


def main(comm):
    sys.stdout.write(f"{type(comm).__name__} {comm.rank} of {comm.size}, mpi4py {'mpi4py' in sys.modules}\n")
    return 0


sys.exit(guard(main))
