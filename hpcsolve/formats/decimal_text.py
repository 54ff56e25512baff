"""Decimal texts that read back as exactly the same numbers."""

from __future__ import annotations


def decimal(cost: int, scale: int) -> str:
    """Return `cost / scale` as an exact decimal text. The scale is a power of ten."""
    if scale == 1:
        return str(cost)
    whole, part = divmod(abs(cost), scale)
    digits = str(part).rjust(len(str(scale)) - 1, "0").rstrip("0")
    return ("-" if cost < 0 else "") + str(whole) + ("." + digits if digits else "")


def shortest(x: float) -> str:
    """Return the shortest decimal text that reads back as the same float, without a final `.0`."""
    return repr(x).removesuffix(".0")
