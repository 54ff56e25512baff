"""What a run leaves behind: the result file, provenance, the log, progress."""
