"""Runs a solver in a child process, so that its limits of time and memory are its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

T = TypeVar("T")


def in_child(call: Callable[[], T], seconds: float, late: str, ended: str) -> T | str:
    """Return what a call returns in a forked process, `late` after so many wall-clock seconds, or `ended`.

    Parameters
    ----------
    late, ended
        What is returned if the process takes too long, or ends without a result.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(sender, call))
    child.start()
    sender.close()
    try:
        found: T | str = receiver.recv() if receiver.poll(seconds) else late
    except EOFError:
        found = ended
    child.kill()
    child.join()
    return found


def _send(sender: Connection, call: Callable[[], Any]) -> None:
    sender.send(call())
