"""Ranks: the communicator that algorithms are given, and how a run joins one. Only `mpi.py` imports mpi4py."""
