"""Reductions of tables of distances, made on the device while searching (cuda_src/paths/summaries.cu).

summary.py  what is kept of a row of distances, and where it stands in a summary
reducer.py  the reduction of distances on a device
answer.py   the answer made of summaries
"""
