"""Mode kmb: the tree of Kou, Markowsky and Berman, by one search per terminal, dealt to the ranks. Begin with tree.py.

tree.py     the searches, the pairs of terminals that are kept of them, and the tree
matrix.py   the distances between all terminals
resume.py   what a checkpoint keeps
"""
