"""Numbers as texts that are read as the very same numbers."""

from __future__ import annotations


def decimal(cost: int, scale: int) -> str:
    """Return `cost / scale` exactly, as a decimal number."""
    if scale == 1:
        return str(cost)
    whole, part = divmod(abs(cost), scale)
    digits = str(part).rjust(len(str(scale)) - 1, "0").rstrip("0")
    return ("-" if cost < 0 else "") + str(whole) + ("." + digits if digits else "")


def shortest(x: float) -> str:
    """Return the shortest decimal that is read as the same float, without `.0`."""
    return repr(x).removesuffix(".0")
