"""Reductions by searches and bounds, and the trees that they find. Modes best and exact use them.

Two kinds are kept apart. Those of the first kind leave at least one lightest tree of the graph:

terminals.py    edges in some lightest tree are contracted
special.py      edges that are in no lightest tree are removed, by the special distance

Those of the second kind leave every tree that is lighter than the best one so far. If that one is optimal, no lightest
tree may be left.

reduced_cost.py edges are removed by dual ascents

apply.py        the graph without removed edges, and with others contracted
incumbent.py    the best tree so far, and trees on the arcs that an ascent saturated ("ascend and prune")
shrink.py       all of them, repeated as long as many edges go
"""
