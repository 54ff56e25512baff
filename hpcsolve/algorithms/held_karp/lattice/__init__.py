"""The method "lattice" of Held-Karp: every state of every set of cities, without a bound.

Plain sums take two half runs that meet in the middle, on all ranks, with states of 16 or 32 bits (kernels:
cuda_src/held_karp/held_karp.cu). Begin with planes.py. All other objectives and constraints have one table of their
own: orders/.

run.py       `estimate` and `run` with these tables
reduce.py    from costs to 16- or 32-bit states, exactly
bound.py     a heuristic tour, which gives an upper bound
split.py     cities into low, mid and top ones, slices over ranks, layers into chunks
plan.py      one rank's share: buffers and messages, to the byte
planes.py    the distributed dynamic program: two half runs that meet
half_run.py  the steps and messages of a half run
resume.py    the checkpoints: the last whole layer
recover.py   the tour, from where its halves meet
compact.py   the layout for study: one table of all states
small.py     the same with one table in numpy, for the smallest problems
orders/      objectives and constraints beyond plain sums
"""
