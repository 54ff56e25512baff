"""Jobs for the command line, and what is seen of their runs: the error line, and what is stored."""

import hashlib

import h5py
import numpy as np

ANSWER = ("solution", "colonies", "improvements", "prices")


def write_job(folder, algorithm, instance, table=""):
    """Write job.toml, whose output is out.h5, with the lines of the algorithm's table, and return its folder."""
    text = f'algorithm = "{algorithm}"\ninstance = {instance}\noutput = "out.h5"\n[{algorithm}]\n{table}\n'
    (folder / "job.toml").write_text(text)
    return folder


def error_line(done):
    """Return the only error line on standard error, which must not hold a traceback."""
    text = done.stderr
    assert "Traceback" not in text, text
    lines = [line for line in text.splitlines() if "error: " in line]
    assert len(lines) == 1, text
    return lines[0]


def solution(path):
    """Return types, shapes, bytes and attributes of all datasets in /solution and in the groups that belong to it."""
    def stored(dataset):
        values = np.array(dataset.asstr()[()], "U") if dataset.dtype.kind == "O" else dataset[()]
        return (dataset.dtype.str, dataset.shape, dataset.chunks, np.asarray(values).tobytes(),
                dataset.attrs["units"], dataset.attrs["description"])

    with h5py.File(path) as file:
        return {dataset.name: stored(dataset) for group in ANSWER if group in file for dataset in file[group].values()}


def solution_hash(path):
    """Return the SHA-256 of all that `solution` returns."""
    return hashlib.sha256(repr(sorted(solution(path).items())).encode()).hexdigest()
