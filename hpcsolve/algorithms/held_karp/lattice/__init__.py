"""The method "lattice" of Held-Karp for plain sums: every state of every set of cities, without a bound.

Two half runs meet in the middle, on all ranks, with states of 16 or 32 bits (kernels:
cuda_src/held_karp/held_karp.cu). Begin with planes.py. All other objectives and constraints have one table of their
own: orders/ beside this folder.

run.py      the plan and the run with these tables, and how the tour is found from the states where its halves meet
reduce.py   from costs to 16- or 32-bit states, exactly, with a heuristic tour as upper bound
split.py    cities into low, mid and top ones; one rank's share: slices, buffers and messages, to the byte
planes.py   the distributed dynamic program: two half runs that meet, their steps, messages and checkpoints
compact.py  the layout for study: one table of all states
"""
