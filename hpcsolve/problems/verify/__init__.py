"""Full checks of distances, paths and lower bounds in plain numpy and scipy.

Tours and trees are checked beside their problems, in `tsp.py` and `steiner.py`.
"""
