"""Reductions of tables of distances, made on the device while searching (cuda_src/paths/summaries.cu).

summary.py    what is kept of a row of distances, and where it stands in a summary
reducer.py    the reduction of distances on a device
searching.py  searches whose rows are reduced
answer.py     the answer made of summaries
memory.py     the memory of reductions, estimated
"""
