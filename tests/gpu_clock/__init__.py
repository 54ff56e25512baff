"""`make gpu-clock`: what the benchmark's kernels execute on a GPU, counted without one, and the times that follow."""
