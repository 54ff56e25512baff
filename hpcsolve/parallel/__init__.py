"""The communicator that algorithms are given, and how a run gets one. Only `mpi.py` imports mpi4py."""
