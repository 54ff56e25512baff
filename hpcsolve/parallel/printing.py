"""Printing that never ends a run, even if a closed pipe or a full disk does not take the text."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import IO

from hpcsolve.wording import visible


def show(text: str, stream: IO[str] | None = None) -> None:
    """Print text on a stream and flush it.

    Parameters
    ----------
    stream
        By default standard output. Characters that its encoding lacks are escaped, and those that would command a
        terminal. Once writing fails (a closed pipe, a full disk), this text and all later text on the stream is
        discarded.
    """
    stream = sys.stdout if stream is None else stream
    if stream is None:  # started with standard output closed
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        # One write: with PYTHONUNBUFFERED, print makes two, and another rank's line may come between text and newline.
        stream.write(visible(text).encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()
    except (OSError, ValueError):
        _silence(stream)


def warn(text: str) -> None:
    """Print text on standard error."""
    show(text, sys.stderr)


def _silence(stream: IO[str]) -> None:
    """Discard what the stream still buffers and all that follows, since Python flushes it once more at exit."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
