"""Lightest Steiner trees, proven: dynamic programming over sets of terminals, with few of its states.

See cuda_src/steiner/subset_program.cu for the method and its papers. All ranks have all families of states; the sets of
one size are dealt to them, and one allgather for each size brings them together.

families.py     the families of states, sorted by size and set
space.py        what the program needs of the reduced graph, with several dual ascents
layer.py        the families of the next size: a rank's share of them, in pieces
meeting.py      where three sets meet at last
program.py      all sizes, and what they prove if the search ends early
recover.py      the tree, found again from the weights of states
search.py       mode exact: reductions, a good tree, the program
again.py        the second search of hpcsolve verify --again
resume.py       what mode exact keeps in a checkpoint
"""
