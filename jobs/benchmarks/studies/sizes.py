"""The size of a study: by default it takes a few minutes on one core."""

from __future__ import annotations

import argparse
from typing import TypeVar

T = TypeVar("T")


def chosen(options: argparse.Namespace, tiny: T, default: T, full: T) -> T:
    """Return the value for the size that the options ask for."""
    return tiny if options.tiny else full if options.full else default
