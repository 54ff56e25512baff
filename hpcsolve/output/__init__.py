"""Writes and reads the result file, and prints the log and the progress of a run.

contents.py      the content of a result file in memory, and the datasets of its groups
versions.py      the format versions, and how they differ
hdf5.py          writes a result file that fits in memory
large_tables.py  writes a result file with tables that do not
chunks.py        brings such tables from all ranks to rank 0, compressed
reader.py        reads a result file that anybody may have made
schema.py        checks types and completeness of what was read
reference.py     lists all datasets, for docs/result-file.md
provenance.py    versions, compiler and launch, the group `/provenance`
log.py           the lines of a run, on the screen and in files
progress.py      the progress of a run
heartbeat.py     a line every few seconds in a long phase
toml.py          writes a job as TOML
markdown.py      replaces the generated part of a document
"""
