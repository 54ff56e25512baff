"""Proven lightest Steiner trees, by dynamic programming over sets of terminals, which keeps few of its states.

See cuda_src/host/subset_program.cpp for the method and its papers. A state is a set of terminals and a vertex; a
family is all states of one set. The sets of one size are dealt to the ranks, and one allgather for each size gives
their families to all ranks.

families.py     the families, sorted by size and set
space.py        what the program needs of the reduced graph, with several dual ascents
layer.py        the families of the next size: a rank's share of them, in several launches
meeting.py      where two or three sets meet, the last step
program.py      all sizes, and what they prove if the search ends early
recover.py      the tree, found again from the weights of states
search.py       mode exact: reductions, a good tree, the program
again.py        the second search of hpcsolve verify --again
resume.py       what mode exact keeps in a checkpoint
"""
