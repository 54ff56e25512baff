"""Sweeps: one job with lists of values, run for each combination of their values.

axes.py     finds the keys of a sweep file that have several values
expand.py   makes the runs, in an order and with names that depend on the file alone
local.py    runs what is missing, several at a time, each as a process of its own
"""
