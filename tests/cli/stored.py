"""What a result file holds, to the byte."""

import h5py


def solution(path):
    """All of /solution, stored bytes and attributes included."""
    with h5py.File(path) as file:
        return {
            name: (d.dtype.str, d.shape, d.chunks, d[()].tobytes(), d.attrs["units"], d.attrs["description"])
            for name, d in file["solution"].items()
        }
