"""Objectives and constraints beyond plain sums, with one table of all states, and more than one optimal order.

../problem.py states the objectives and constraints, once for all methods. Kernels: cuda_src/held_karp/orders.cu and
order_sets.cuh. Begin with run.py.

run.py     the calls of a job: `plan` and `run`; the value of the best order through each arc
states.py  an order problem in the integers of a kernel; the best orders and their number, read from states
table.py   the table: split over ranks, filled layer by layer, kept in checkpoints
"""
