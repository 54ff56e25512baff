"""Every reader of files, as a target for damaged ones.

Formats come from `hpcsolve/formats/known.py`: a format is tried with its samples, and with what its own writer makes of
small instances. A new format is covered by its record, a new job key by its struct.
"""

from __future__ import annotations

import os
import random
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import hpcsolve
from hpcsolve.analysis.collect import collected
from hpcsolve.errors import InputError
from hpcsolve.formats import Format, read, read_graph
from hpcsolve.formats.known import GRAPH_FORMATS, TSP_FORMATS
from hpcsolve.job import load_job
from hpcsolve.output import reader
from hpcsolve.output.reader import read_all
from hpcsolve.output.schema import answer_lines
from hpcsolve.problems.generate.graph import road_steiner
from hpcsolve.problems.generate.plane import road_graph
from hpcsolve.problems.generate.tsp import random_matrix, uniform_tsp
from hpcsolve.runner.reading import read_instance
from hpcsolve.runner.verify import verify_file
from tests.formats.samples import Sample, samples
from tests.fuzz import checkpoints, results
from tests.fuzz.mutator import mutant

LARGEST = 100
"""Largest number in a job whose instance is generated: a job may ask for much work, but a damaged file may not."""


@dataclass(frozen=True)
class Target:
    """A reader and good files for it.

    Attributes
    ----------
    mutate
        Damages a content.
    guided
        Whether coverage may guide it. Where libhdf5 itself is fed with damaged bytes, in a child, it may not.
    """

    name: str
    seeds: tuple[Sample, ...]
    mutate: Callable[[bytes, random.Random], bytes] = mutant
    guided: bool = True


def targets(folder: Path) -> list[Target]:
    """Return all targets. Results and checkpoints are made in the folder by solving small jobs."""
    return [*text_targets(), *solved_targets(folder)]


def text_targets() -> list[Target]:
    """Return the targets that need no solved job: every format, and the other files that jobs name."""
    groups: dict[str, list[Sample]] = {format.name: written(format) for format in (*TSP_FORMATS, *GRAPH_FORMATS)}
    for sample in samples():
        groups.setdefault(sample.format, []).append(_with_options(sample))
    return [Target(name, tuple(found)) for name, found in groups.items()]


def solved_targets(folder: Path, jobs: Mapping[str, str] = results.JOBS) -> list[Target]:
    """Return the targets that read what hpcsolve wrote: results and checkpoints."""
    files = results.result_files(folder, jobs)
    damaged = [Sample("result bytes", f"{name}.h5", content, _damaged_result, has_lines=False)
               for name, content in files.items()]
    altered = [Sample("result", f"{name}.h5", b"", _altered_result(content), has_lines=False)
               for name, content in files.items()]
    groups: dict[str, list[Sample]] = {}
    for name, text in checkpoints.JOBS.items():
        for sample in checkpoints.samples_of(name, checkpoints.checkpoint_files(folder, text)):
            groups.setdefault(sample.format, []).append(sample)
    return [
        Target("result", tuple(altered), results.damaged_changes),
        Target("result bytes", tuple(damaged), guided=False),
        *(Target(name, tuple(found)) for name, found in groups.items()),
    ]


def written(format: Format[Any]) -> list[Sample]:
    """Return what a format's own writer makes of small instances, and of the first sample of the format."""
    problems = [uniform_tsp(4), random_matrix(4)] if format in TSP_FORMATS else [road_graph(5), road_steiner(6, 3)]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for sample in (sample for sample in samples() if sample.format == format.name and not problems[2:]):
            (Path(folder) / sample.file).write_bytes(sample.content)
            problems.append(sample.reader(str(Path(folder) / sample.file)).problem)
        for number, problem in enumerate(problems):
            path = Path(folder) / f"written{number}{format.suffixes[0]}"
            try:
                if format.write is not None:
                    format.write(problem, str(path))
                    found.append(_with_options(Sample(format.name, path.name, path.read_bytes(), _reader(format))))
            except InputError:  # a format need not express every instance
                pass
    return found


def _reader(format: Format[Any]) -> Callable[[str], Any]:
    return read if format in TSP_FORMATS else read_graph


def _with_options(sample: Sample) -> Sample:
    """Return a sample that is read with options, too, which its content chooses, or whose job's instance is made."""
    if sample.reader is load_job:
        return replace(sample, reader=_whole_job)
    if sample.reader is not read_graph:
        return sample
    known = next(format for format in GRAPH_FORMATS if format.name == sample.format)
    weights = [{}, {"weight": "km"}, {"weight": "length"}] if "weight" in known.accepts else [{}]
    ways = ({}, {"directed": True}, {"directed": False})
    options = [{**weight, **directed} for weight in weights for directed in ways]

    def reader(path: str) -> Any:
        content = Path(path).read_bytes()
        chosen = 0 if content == sample.content else zlib.crc32(content) % (2 * len(options))
        return read_graph(path, **(options[chosen] if chosen < len(options) else {}))

    return replace(sample, reader=reader)


def _whole_job(path: str) -> Any:
    """Read a job, and make its instance if that is small."""
    job = load_job(path)
    named = job.settings.instance
    if isinstance(named, dict) and "generate" in named and _all_small(named):
        return read_instance(job)
    return job


def _all_small(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(map(_all_small, inner)) and not (isinstance(value, (int, float)) and abs(value) > LARGEST)


def _used_result(path: str) -> None:
    """Load, verify or collect a result, as its content chooses: what programs and the command line do."""
    (_loaded, _verified, _verified, _collected)[zlib.crc32(Path(path).read_bytes()) % 4](path)


def _loaded(path: str) -> None:
    assert repr(hpcsolve.load(path))


def _collected(path: str) -> None:
    collected([path])


def _verified(path: str) -> None:
    contents, verdict = verify_file(path)
    for line in [*answer_lines(contents, path), str(verdict)]:
        assert "\n" not in line, repr(line)


def _altered_result(content: bytes) -> Callable[[str], None]:
    """Return a function that makes the changes that a file holds in a result, and uses the result."""

    def reader(path: str) -> None:
        changes = Path(path).read_bytes()
        Path(path).write_bytes(results.changed(content, changes))
        _used_result(path)

    return reader


def _damaged_result(path: str) -> None:
    with forked_trial():
        _used_result(path)


@contextmanager
def forked_trial() -> Iterator[None]:
    """Let libhdf5 try a file in a forked child. It does what the child of reader.py does, but starts at once."""

    def failure(path: str, size: int, changed: int) -> str:
        child = os.fork()
        if child == 0:
            try:
                read_all(path)
            except BaseException:  # noqa: BLE001 (as in reader.py, only a signal counts)
                pass
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        return f"libhdf5 crashes when it reads it ({os.WTERMSIG(status)})" if os.WIFSIGNALED(status) else ""

    with mock.patch.object(reader, "_failure", failure):
        yield
