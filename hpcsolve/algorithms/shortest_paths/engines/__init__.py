"""The search engines, which find distances and paths in a graph. Begin with known.py.

The kernels of the engine NAME are in cuda_src/paths/NAME.cu. Most engines are no more than a kernel file and a record.

known.py       all engines, one record each
tuning.py      bucket widths and the number of searches at a time, for a graph and a device
block.py       launches for searches by one block each
grid.py        launches for searches by the whole grid
row_engine.py  the record of an engine that searches from many sources at once and gives rows of distances
tile.py, p_pull.py  two such engines
phast/         the third: sweeps over a contraction hierarchy, which tables of distances also use directly
"""
