"""Held-Karp without the states that a lower bound proves useless: for problems beyond the lattice's memory.

A relaxation gives a lower bound of every completion (bounds.cu), local search an upper bound. A state is dropped if its
value plus that lower bound exceeds the upper bound (layers.cu). If no other states are dropped, those that are left
contain every best order.
Bounds of this kind: Baldacci, Mingozzi, Roberti 2011; Roberti and Mingozzi 2014 (delivery man to 150 vertices).

places.py      the problem: costs by place and precedences
slots.py       which cities each city remembers in the relaxation
relaxation.py  the relaxation on a device, and the arcs that it rules out
deal.py        which rows of the relaxation each rank computes
chains.py      a first lower bound, from precedences
tighten.py     multipliers and memories, round after round
potentials.py  values of cities, with which bounds and ants begin
ants.py, descent.py  good orders
keys.py        states as bits, for numpy
layers.py      the next layer of states, on all ranks
search.py      all layers, perhaps of limited width
trace.py       back from the last layer: one order, or all best ones
canonical.py   which of equally good orders is the answer
prove.py       the whole method
proof.py       what it has proven
watch.py       when a proof ends early, and when it is saved
resume.py      what a checkpoint keeps
run.py         the calls of a job: `estimate` and `run`
"""
