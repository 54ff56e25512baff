"""Checkpoints: what a run keeps of its work, so that a kill or a time limit costs little of it.

store.py       what an algorithm hands over, and the files of a folder: generations, each a data file from each rank and
               a manifest with their SHA-256, and the lease that tells a run whether a later one has taken over
saved.py       a generation that was found whole, from which any number of ranks take the rows that they need
checkpoints.py what algorithms call: is it time to save, or to stop? The clock, the watchdog and the writer behind it

A checkpoint depends neither on the number of ranks nor on the device: its rows belong to colonies, slices, searches or
vertices. So a run can go on with another number of ranks or on another device, and its answer is the same to the bit.
"""
