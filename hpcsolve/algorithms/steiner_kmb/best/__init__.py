"""Mode best: reductions, iterated 1-Steiner with local search, ruin and recreate. Mode exact begins with it too.

Kahng and Robins (1992) add vertices to the terminals as long as that makes their spanning tree lighter. Begin with
polish.py, then one_steiner.py (cuda_src/host/one_steiner.cpp).

polish.py       reductions, iterated 1-Steiner on what they leave, then (mode best alone) ruin and recreate
one_steiner.py  iterated 1-Steiner, from the first tree of nodes to the final tree
rounds.py       its rounds, in which all ranks take part, and their end
node_table.py   its table of distances, of which each rank has some columns (functions `measure` and `link`)
node_tree.py    its spanning tree of nodes, on rank 0 (function `graft`)
key_vertex.py   local search by key-vertex elimination (cuda_src/host/tree_moves.cpp), after ../key_path.py
ruin.py         ruin and recreate, from the best tree of the rounds (cuda_src/host/ruin.cpp), on rank 0
resume.py       what a checkpoint keeps that is written in the rounds
"""
