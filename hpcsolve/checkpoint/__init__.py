"""Checkpoints: what a run keeps of its work, so that a kill or a time limit costs little of it.

state.py       what an algorithm hands over: numbers, and rows of named tables
store.py       the files of a folder: a generation is a data file from each rank, and a manifest with their SHA-256
saved.py       a generation that was found whole, from which any number of ranks take the rows that they need
writer.py      writes a generation: a data file on each rank, then the manifest on rank 0
lease.py       tells a run whether a later run of the same job has taken over
pace.py        when the next checkpoint is due, and when a run must stop to be done before its deadline
checkpoints.py what algorithms call: is it time to save, or to stop?

A checkpoint depends neither on the number of ranks nor on the device: its rows belong to colonies, slices, searches or
vertices. So a run can go on with another number of ranks or on another device, and its answer is the same to the bit.
"""
