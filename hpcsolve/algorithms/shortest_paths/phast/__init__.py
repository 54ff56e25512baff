"""Tables of distances by a contraction hierarchy and a sweep for many sources at a time (PHAST).

Delling, Goldberg, Nowatzyk, Werneck: PHAST: Hardware-accelerated shortest path trees, Journal of Parallel and
Distributed Computing, 2013. Their hierarchy is made with witness searches. This one is contracted without them, by
degree and depth, and gets its weights afterwards (Dibbelt, Strasser, Wagner: Customizable Contraction Hierarchies,
2014). On road networks that takes less time than 60 searches of Near-Far. The hierarchy is pruned to the least set of
arcs that its order allows.

contraction.py   the order and the arcs of a hierarchy, from the graph's topology
hierarchy.py     their weights, and the numbering from the top down
kept.py          hierarchies that are kept in the user's cache folder between runs
choice.py        whether a job's searches go through a hierarchy
restriction.py   the part of a hierarchy above some targets
sweeper.py       a hierarchy on a device, ready to search from groups of sources
rows.py          rows of distances for Steiner trees, by a sweeper
plateaus.py      arcs of weight 0, across which predecessors need a rule of their own

New York (264,346 vertices, 365,050 edges): contraction 0.25 s of one core, weights and numbering 0.35 s, 257 levels,
3.58 arcs a vertex. Of these levels some 140 have 256 vertices or more. On a GPU a sweep is then a launch for each of
them and one for each run of narrow levels between. A group of 32 sources reads and writes 4.6 lines of 128 bytes a
vertex: 155 MB, or 36 microseconds at 4.3 TB/s. That is about 1.1 microseconds a tree for the sweep, and as much again
for the check and the rows. So an H200 should need 3 to 4 microseconds a tree with its check, if 1000 sources fill it
(computed, not measured). The copy of a row to the host takes 21 microseconds at 50 GB/s beside that.
"""
