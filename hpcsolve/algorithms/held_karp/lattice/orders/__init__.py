"""Objectives and constraints beyond plain sums, with one table of all states, and more than one optimal order.

../../problem.py states the objectives and constraints, once for all methods. Kernels: cuda_src/held_karp/orders.cu and
order_sets.cuh. Begin with run.py.

run.py      the calls of a job: `estimate` and `run`
encode.py   an order problem in the integers of a kernel
slices.py   the table, split over ranks
table.py    the table, filled layer by layer
resume.py   the checkpoints: planes of the table, and the last layer
walk.py     the best order of a filled table
ranking.py  the number of optimal orders, and the best ones
arcs.py     the value of the best order through each arc
"""
