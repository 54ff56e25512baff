"""Reductions of the graph, and the trees that they find.

Every mode begins with the simple ones:

simple.py       parallel edges, leaves and chains; the way from a reduced tree back to original edges

Modes best and exact go on with searches and bounds (cuda_src/host/reductions.cpp). The first kind of these leaves at
least one lightest tree of the graph:

terminals.py    edges in some lightest tree are contracted
special.py      edges that are in no lightest tree are removed, by the special distance

The second kind leaves every tree that is lighter than the best one so far. If that one is optimal, perhaps no lightest
tree is left:

reduced_cost.py edges are removed by dual ascents

What they share:

apply.py        the graph without removed edges, and with others contracted
incumbent.py    the best tree so far, and trees on the arcs that an ascent saturated ("ascend and prune")
shrink.py       all reductions, repeated as long as they remove many edges
"""
