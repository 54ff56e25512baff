"""Printing that cannot end a run: what a terminal, a pipe or a full disk does not take is lost, the result is not."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import IO


def show(text: str, stream: IO[str] | None = None) -> None:
    """Print lines and flush.

    Parameters
    ----------
    stream
        By default standard output. Characters that its encoding lacks are escaped; once it fails (a reader that has
        gone away, a full disk), this and all later lines go nowhere.
    """
    stream = sys.stdout if stream is None else stream
    if stream is None:  # started with standard output closed
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)
    except (OSError, ValueError):
        _silence(stream)


def warn(text: str) -> None:
    """Print lines on standard error, after all that went to standard output."""
    show(text, sys.stderr)


def _silence(stream: IO[str]) -> None:
    """Send what is still in the buffer, and all that comes, nowhere: Python flushes once more at its end."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
