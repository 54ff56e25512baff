"""What the user asks: the `[steiner-kmb]` table of a job file."""

from __future__ import annotations

from typing import Literal

import msgspec

from hpcsolve.errors import InputError

THERE = ("fast",)


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The `[steiner-kmb]` table of a job file.

    Attributes
    ----------
    mode
        "fast": a tree grown by one search, on rank 0 alone; "kmb": as Kou, Markowsky and Berman published it, one
        search a terminal; "best": iterated 1-Steiner on all distances. The last two are not there yet.
    """

    mode: Literal["fast", "kmb", "best"] = "fast"


def require_there(parameters: Parameters) -> None:
    """Refuse modes that are designed and not written yet.

    Raises
    ------
    InputError
        Naming those that are there.
    """
    if parameters.mode not in THERE:
        known = ", ".join(f'"{mode}"' for mode in THERE)
        raise InputError(f"steiner-kmb.mode: {parameters.mode!r} is designed and not there yet; there is {known}")
