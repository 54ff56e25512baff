"""What all ranks have in common, compared once when they join.

Ranks that were started with another version, other kernels, another job or other options would either wait for each
other without end, or compute half of one answer and half of another. So each rank sends one small record, and all of
them end with the same line if two differ. Devices, threads, logs and the variables of hosts may differ.
"""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Mapping, Sequence
from typing import Any

import hpcsolve
from hpcsolve.device import build
from hpcsolve.errors import EnvironmentFault, HpcsolveError
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.interrupts import Held, Terminated

LONGEST = 60
"""A value of more characters is shortened in a record, to its beginning and a hash."""
NOT_SET = "nothing"


def agree_at_start(
    comm: Comm, failure: HpcsolveError | KeyboardInterrupt | None, held: Held, terms: Mapping[str, Any]
) -> None:
    """Make sure that all ranks are ready to work on the same. Collective.

    Parameters
    ----------
    failure
        What has ended the work of this rank before it joined, or None.
    held
        The signals that have come meanwhile.
    terms
        What must be equal on all ranks: names and plain values, such as those of a job's table.

    Raises
    ------
    KeyboardInterrupt
        A rank was asked to stop.
    HpcsolveError
        That of the lowest rank that has one. It names the rank unless all have the same.
    EnvironmentFault
        The terms, the version or the kernels of a rank differ from those of rank 0.
    """
    record: dict[str, str] = {}
    if comm.size > 1 and failure is None:
        try:
            record = record_of({"version": hpcsolve.__version__, "kernels": build.target_key(), **terms})
        except HpcsolveError as error:
            failure = error
    mine: dict[str, Any] = {"host": socket.gethostname(), "failure": failure or held.asked, "record": record}
    reports = comm.allgather(mine)
    failures = [report["failure"] for report in reports]
    stops = [one for one in failures if isinstance(one, KeyboardInterrupt)]
    if stops:
        raise min(stops, key=lambda stop: isinstance(stop, Terminated))  # Ctrl-C before the others
    if len({repr(one) for one in failures}) == 1 and failures[0] is not None:
        raise failures[0]
    for rank, report in enumerate(reports):
        if report["failure"] is not None:
            raise type(report["failure"])(f"rank {rank} on {report['host']}: {report['failure']}")
    for rank, report in enumerate(reports):
        if said := difference(report["record"], reports[0]["record"]):
            raise EnvironmentFault(f"rank {rank} on {report['host']} differs from rank 0 in {said}; start all ranks "
                                   "with the same command and installation")


def record_of(terms: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return short texts of values by name. Tables in tables have dotted names."""
    found: dict[str, str] = {}
    for name, value in terms.items():
        if isinstance(value, Mapping):
            found |= record_of(value, f"{prefix}{name}.")
        elif value is not None:
            text = json.dumps(value, ensure_ascii=False)
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
            found[prefix + name] = text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}... (SHA-256 {digest})"
    return found


def difference(record: Mapping[str, str], first: Mapping[str, str]) -> str:
    """Return the first name whose value is not that of the first rank, with both values, or "" if there is none."""
    names: Sequence[str] = [*first, *(name for name in record if name not in first)]
    differing = next((name for name in names if record.get(name) != first.get(name)), None)
    if differing is None:
        return ""
    return f"{differing}: {record.get(differing, NOT_SET)} instead of {first.get(differing, NOT_SET)}"
