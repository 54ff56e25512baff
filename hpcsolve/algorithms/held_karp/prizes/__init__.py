"""Tours that may leave cities out: the most prize within a budget, or the best tour for each sum of prizes.

The states are those of a tour through all cities, a set of visited cities and the last of them, each with its least
value: the cost so far or, with time windows, the time. Here a tour may end after each of them. So one table of all
states (../orders/) knows the best tour through every set of cities, and layers of states (../bounded/layers.py) go
farther where a budget or windows leave few of them. Kernels: cuda_src/held_karp/prizes.cu, and in orders.cu the ends.

The answer is a curve: pairs of prize and end, of which none collects as much as another one and ends as early. With a
budget it is the one pair of most prize. Equally good are tours of equal prize and equal end: of these the answer is one
with the fewest cities, and among them the first by `tie`.

run.py     the calls of a job: `plan` and `run`
curve.py   the statement in integers; the curve
table.py   by the table of all states
states.py  by layers of the states that may still reach a point of the curve, or a better one
"""
