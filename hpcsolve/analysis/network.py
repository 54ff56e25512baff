"""The network of a result: its graph, read or generated again, since the result file keeps no edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hpcsolve.errors import HpcsolveError
from hpcsolve.job import IN_MEMORY, job_from_table
from hpcsolve.problems.graph import Graph
from hpcsolve.runner.kinds import kind_of, read_instance

if TYPE_CHECKING:
    from hpcsolve.analysis.load import Result

LARGEST = 2_000_000
"""Largest number of vertices of a network that is read for a picture."""


def network_of(result: Result) -> Graph | None:
    """Return the graph that was solved, or None if it cannot be read or generated again.

    It is read from its file or generated again, as the result's job says, and must have the SHA-256 of the instance
    that was solved. So it is None if the instance was in a program's memory, if its file is gone or has changed, and if
    it has more than two million vertices.
    """
    if result.contents.value("instance", "vertices", 0) > LARGEST:
        return None
    try:
        job = job_from_table(msgspec.toml.decode(result.job))
        found: Any = None if job.settings.instance in ("-", IN_MEMORY) else read_instance(job)
    except HpcsolveError:
        return None
    solved = result.contents.value("instance", "content_sha256")
    same = found is not None and kind_of(job).content_hash(found.problem) == solved
    return found.problem if same and isinstance(found.problem, Graph) else None
