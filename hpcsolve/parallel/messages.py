"""The bytes of messages, for the communicator through MPI."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]


def as_bytes(array: NDArray[Any]) -> Bytes:
    """Return the bytes of a contiguous array, which are not copied. Raises `ValueError` if it is not contiguous."""
    if not array.flags.c_contiguous:
        raise ValueError("only contiguous arrays can be sent or received")
    return array.reshape(-1).view(np.uint8)


def pieces(data: Bytes, piece: int) -> list[Bytes]:
    """Split data into pieces, at least one, so that an empty message is sent too."""
    return [data[start : start + piece] for start in range(0, max(len(data), 1), piece)]
