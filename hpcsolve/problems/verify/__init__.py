"""Complete checks of distances, paths and lower bounds in plain numpy and scipy, independent of the algorithms.

Tours and trees are checked beside their problems, in `tsp.py` and `steiner.py`.
"""
