"""A full disk, as the operating system shows it to one process: files beyond a size cannot be written."""

from __future__ import annotations

import resource
import sys


def fill_disk(limit: int) -> None:
    """Let this process write no file beyond `limit` bytes from now on.

    Python must not cache bytecode any more: a short write goes unnoticed there, and whoever imports the truncated file
    next dies of it.
    """
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
