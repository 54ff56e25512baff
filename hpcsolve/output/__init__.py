"""Writes and reads the result file, its provenance, the log and the progress of a run."""
