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

New York (264,346 vertices, 730,100 arcs): contraction 0.25 s of one core, weights and numbering 0.35 s, 257 levels,
3.58 arcs a vertex. Of these levels 148 have 256 vertices or more. On a GPU a sweep is a launch for each of them, and
one for each of the 3 runs of narrow levels between, which have 3,728 vertices in all: 151 launches, whatever the number
of groups. A group of 32 sources has a line of 128 bytes a vertex. Lines that it reads and writes, per vertex: sweep
4.58, check 3.76, rows 2, together 350 MB, or 10.9 MB a tree. At 4.3 TB/s these take 2.5 microseconds. For 1000 sources,
which fill an H200, launches take some 0.45 ms and the climb 0.2 ms, or 0.65 microseconds a tree. So a tree with its
check should take 3.2 microseconds (computed, not measured). The copy of its row to the host takes 21 microseconds at 50
GB/s beside that: a table that leaves the GPU is bound by the copy, whatever fills it.

The order follows from degree and depth, not from coordinates. Nested dissection would not pay: on New York contraction
takes less than half of the time of the preparation, all of which takes less than 60 searches. Graphs whose lists of
neighbours grow, such as grids, are left to Near-Far.
"""
