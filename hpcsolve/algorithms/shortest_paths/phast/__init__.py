"""Tables of distances by a contraction hierarchy and a sweep for many sources at a time (PHAST).

Delling, Goldberg, Nowatzyk, Werneck: PHAST: Hardware-accelerated shortest path trees, Journal of Parallel and
Distributed Computing, 2013. Their hierarchy takes searches for witnesses. This one is contracted by degree alone and
gets its weights afterwards (Dibbelt, Strasser, Wagner: Customizable Contraction Hierarchies, 2014), in less than the
time of 60 searches of Near-Far on road networks. It is pruned to the least set of arcs that its order allows.

contraction.py   the order and the arcs of a hierarchy, from the graph's topology
hierarchy.py     their weights, and the numbering from the top down
choice.py        whether a job's searches go through a hierarchy
sweeper.py       a hierarchy on a device, ready to search from groups of sources
plateaus.py      arcs of weight 0, across which predecessors need a rule of their own

New York (264,346 vertices, 365,050 edges): contraction 0.25 s of one core, weights and numbering 0.35 s, 257 levels,
3.58 arcs a vertex. Of these levels some 140 have 256 vertices or more. On a GPU a sweep is then a launch for each of
them and one for each run of narrow levels between. A group of 32 sources reads and writes 4.6 lines of 128 bytes a
vertex: 155 MB, or 36 microseconds at 4.3 TB/s, about 1.1 a tree for the sweep, and as much again for check and rows.
So an H200 should need 3 to 4 microseconds a tree with its check, if 1000 sources fill it (computed, not measured). The
copy of a row to the host takes 21 microseconds at 50 GB/s beside that.
"""
