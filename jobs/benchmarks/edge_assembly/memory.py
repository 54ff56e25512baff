"""Memory of runs by the number of cities: the peak of the process, and what the run said before that it would be."""

from __future__ import annotations

import sys
from pathlib import Path

from hpcsolve.analysis.load import load
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.edge_assembly.instances import Instance
from jobs.benchmarks.edge_assembly.processes import watch

LIMIT = 3600.0
"""CPU seconds after which a process is ended."""
JOB = """\
algorithm = "edge-assembly"
instance = "{instance}"
output = "{output}"
device = "cpu"
threads = 1
[edge-assembly]
bound = {bound}
[stop]
iterations = 1
seconds = 60
"""


def table(instances: list[Instance], folder: Path) -> list[str]:
    """Run an iteration of each instance, or 60 s of it, without and with the bound, and return a table in Markdown."""
    rows, job, output = [], folder / "memory.toml", folder / "memory.h5"
    for instance in instances:
        for bound, word in (("false", "without"), ("true", "with")):
            text = JOB.format(instance=instance.path.absolute(), output=output, bound=bound)
            job.write_text(text, encoding="utf-8")
            command = [sys.executable, "-m", "hpcsolve", "run", str(job), "--overwrite"]
            watch([*command, "--checkpoint-interval", "never"], LIMIT)
            ranks = load(output).table("ranks")
            peak, expected = (int(ranks[name][0]) for name in ("peak_resident_bytes", "estimated_bytes"))
            rows.append([instance.name, word, f"{peak / 2**20:.0f}", f"{expected / 2**20:.0f}",
                         f"{expected / peak:.2f}", f"{peak / instance.n:.0f}"])
            print(*rows[-1], file=sys.stderr, flush=True)
    head = ["instance", "bound", "peak MiB", "estimate MiB", "ratio", "bytes a city"]
    text = "Of the whole process, with Python and the instance: one thread, one iteration or 60 s."
    return [text, "", *markdown(head, rows), ""]
