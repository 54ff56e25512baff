"""hpcsolve: exact and heuristic graph optimisation on MPI ranks that own a GPU or CPU cores each."""

__version__ = "0.1.0"
