"""Tables of distances by a contraction hierarchy and a sweep for many sources at a time (PHAST).

Delling, Goldberg, Nowatzyk, Werneck: PHAST: Hardware-accelerated shortest path trees, Journal of Parallel and
Distributed Computing, 2013. Their hierarchy is made with witness searches. This one is contracted without them, by
degree and depth, and gets its weights afterwards (Dibbelt, Strasser, Wagner: Customizable Contraction Hierarchies,
2014). On road networks that takes less time than 40 searches of Near-Far. The hierarchy is pruned to the least set of
arcs that its order allows.

contraction.py   the order and the arcs of a hierarchy, from the graph's topology
hierarchy.py     their weights, and the numbering from the top down
kept.py          hierarchies that are kept in the user's cache folder between runs
choice.py        whether a job's searches go through a hierarchy
restriction.py   the part of a hierarchy above some targets
sweeper.py       a hierarchy on a device, ready to search from groups of sources
rows.py          rows of distances for Steiner trees, by a sweeper
plateaus.py      arcs of weight 0, across which predecessors need a rule of their own

New York (264,346 vertices, 730,100 arcs): contraction 0.3 s of one core, weights and numbering 0.25 s, 265 levels,
3.57 arcs a vertex. Of these levels 127 have 256 vertices or more. On a GPU a sweep is a launch for each of them, and
one for each of the 3 runs of narrow levels between, which have 3,082 vertices in all: 130 launches, whatever the number
of groups. A group of 32 sources has a line of 128 bytes a vertex. Lines that it reads and writes, per vertex: sweep
4.57, check 3.76, rows 2, together 350 MB, or 10.9 MB a tree. At 4.3 TB/s these take 2.5 microseconds. For 1000 sources,
which fill an H200, launches take some 0.4 ms and the climb 0.2 ms, or 0.6 microseconds a tree. So a tree with its
check should take 3.1 microseconds (computed, not measured). The copy of its row to the host takes 21 microseconds at 50
GB/s beside that: a table that leaves the GPU is bound by the copy, whatever fills it.

The order follows from degree and depth alone. Nested dissection was tried and left out, since it makes everything worse
on roads: a graph was cut in two again and again. Of 40 straight cuts the one with the smallest separator was taken
(four directions in the coordinates, or in the numbers of arcs from three far vertices; five positions; the vertices on
either side of the cut). Each separator was contracted after its two sides, and the rest by degree and depth as here.
The three numbers are the steps of contraction per vertex and arc, the entries of the lists of neighbours per vertex,
and the milliseconds per source of a sweep from 64 sources, on one core:

    graph                     no cut               few cuts                      20 cuts
    New York                  57, 4.7, 0.115       2 cuts: 117, 5.2, 0.116       603, 10.0, 0.173
    NE                        48, 3.6, 0.558       1 cut: 54, 3.7, 0.566         not measured
    road-network, 1,000,000   26, 3.0, 0.343       1 cut: 37, 3.1, 0.398         343, 6.0, 0.691
    road-graph, 100,000       221, 6.9, 0.060      2 cuts: 249, 7.1, 0.064       332, 8.9, 0.086
    grid, 256 x 256           3108, 32.8, 0.079    1 cut: 1830, 27.0, 0.085      1062, 22.1, 0.091

Separators that follow bridges and rivers (flows, as in FlowCutter) are smaller, but finding them takes many times as
long as the whole preparation. On grids the cuts leave a third of the steps, so that a hierarchy pays, but only from
4,000 searches on, and no sweep gets faster. So graphs whose lists of neighbours grow, such as grids, are left to
Near-Far.
"""
