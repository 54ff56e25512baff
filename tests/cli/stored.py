"""The stored bytes of a result file."""

import h5py
import numpy as np


def solution(path):
    """Return types, shapes, bytes and attributes of all datasets in /solution."""
    with h5py.File(path) as file:
        return {
            name: (d.dtype.str, d.shape, d.chunks, np.asarray(d[()]).tobytes(), d.attrs["units"],
                   d.attrs["description"])
            for name, d in file["solution"].items()
        }
