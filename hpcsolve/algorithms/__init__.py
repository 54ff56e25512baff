"""The algorithms, one folder each: its essay, parameters, estimate and run. MPI and the device are passed in."""
