"""A full disk, as the operating system shows it to one process: files beyond a size cannot be written."""

from __future__ import annotations

import resource
import sys


def fill_disk(limit: int) -> None:
    """Let this process write at most `limit` bytes to any file from now on.

    Python also stops caching bytecode, because it would not notice that a cache file is cut short, and the next process
    that imports the module would fail.
    """
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
