"""Reads and plots results, without MPI and without a device."""
