"""Writes and reads the result file, and prints the log and the progress of a run.

schema.py        the layout of the file: format versions, datasets of the groups, and checks of a content
hdf5.py          writes a result file that fits in memory
large_tables.py  writes a result file with tables that do not, whose rows come from all ranks
reader.py        reads a result file that anybody may have made
provenance.py    versions, compiler and launch, the group `/provenance`
log.py           the lines of a run, on the screen and in files, and its progress
toml.py          writes a job as TOML
"""
