"""The search engines: how distances are found, once the question and the graph are there. Begin with known.py.

The kernels of the engine NAME are in cuda_src/paths/NAME.cu. Most engines are nothing but a kernel file and a record.

known.py       all engines, one record each
tuning.py      bucket widths and the number of searches at a time, for a graph and a device
block.py       launches for searches by one block each
grid.py        launches for searches by the whole grid
row_engine.py  the record of an engine that searches from many sources at once and gives rows of distances
tile.py, p_pull.py  two such engines
phast/         the third: a sweep over a contraction hierarchy, which the answers to tables use directly too
"""
