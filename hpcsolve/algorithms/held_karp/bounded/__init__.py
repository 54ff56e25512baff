"""Held-Karp without the states that a lower bound proves useless: for problems beyond the lattice's memory.

A relaxation gives a lower bound of every completion (bounds.cu), local search an upper bound. A state is dropped if its
value plus that lower bound exceeds the upper bound (layers.cu). If no other states are dropped, those that are left
contain every best order.
Bounds of this kind: Baldacci, Mingozzi, Roberti 2011; Roberti and Mingozzi 2014 (delivery man to 150 vertices).

places.py      the problem: costs by place and precedences; first lower bounds, by chains and by potentials
relaxation.py  the relaxation on a device: what cities remember, which rows a rank computes, the arcs that it rules out
windows.py     the problem with time windows, and what these imply
timed.py       the relaxation by time, for sums with windows
deadlines.py   the earliest end with windows: its bounds, and the proof by one deadline after another
in_time.py     first orders that keep to windows
tighten.py     multipliers and memories, round after round; good orders by local search and by edge assembly
layers.py      states as bits, and the next layer of states, on all ranks
search.py      all layers, perhaps of limited width, and back: one order, or of all best ones the answer
prove.py       the whole method: what it has proven, when it ends early, what a checkpoint keeps
run.py         the calls of a job: `plan` and `run`
"""
