"""Damaged files are either read, or refused at once in one line that names the line of the file.

The long form is `make fuzz`: 10,000 files for each reader, and 1,000,000 runs guided by coverage.
"""

import itertools
import os
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcsolve.algorithms.registry import NAMES
from hpcsolve.checkpoint import store
from hpcsolve.errors import DamagedFileError, InputError
from hpcsolve.formats.known import GRAPH_FORMATS, TSP_FORMATS
from tests.checkpoint.test_store import mutants
from tests.formats.samples import published, samples
from tests.fuzz import checkpoints, results
from tests.fuzz.judge import NAMED, READ, REFUSED, outcome
from tests.fuzz.mutator import mutant, mutants_of, texts_of_words_in
from tests.fuzz.program import in_process, try_numbers
from tests.fuzz.targets import Target, solved_targets, text_targets

COUNT = 100
"""Damaged files of each reader."""
TARGETS = {target.name: target for target in text_targets()}
FOUND = sorted((Path(__file__).parent / "found").glob("*/*"))
"""Files that a reader once failed on, in a folder for each reader, under the name that it recognises."""
each_target = pytest.mark.parametrize("name", TARGETS)


def require_refusals(target, count, folder):
    """Fail unless good files are read, and all damaged ones are read or refused as they should be."""
    for sample in target.seeds:
        assert outcome(sample, folder, sample.content) == READ
    tally = try_numbers(target, 1, range(count), folder, folder)
    assert not tally.failures
    assert sum(tally.outcomes.values()) == count and set(tally.outcomes) <= {READ, NAMED, REFUSED}
    assert tally.outcomes[NAMED] + tally.outcomes[REFUSED] >= count // 8 and tally.outcomes[READ] > 0, "both ends"
    return tally.outcomes


@each_target
def test_damaged_files(name, tmp_path):
    require_refusals(TARGETS[name], COUNT, tmp_path)


@each_target
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_texts_of_known_words(name, tmp_path, data):
    """Texts that begin like a good file and go on with words of good files, and damaged good files. Both shrink."""
    target = TARGETS[name]
    sample = data.draw(st.sampled_from(target.seeds))
    texts = texts_of_words_in([seed.content for seed in target.seeds])
    content = data.draw(st.one_of(texts, mutants_of(sample.content)))
    assert outcome(sample, tmp_path, content) in (READ, NAMED, REFUSED)


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_once_failed(path, tmp_path):
    """Each file is read as every good file of its format that has its suffix."""
    like = [seed for seed in TARGETS[path.parent.name].seeds if Path(seed.file).suffix == path.suffix]
    for seed in like:
        assert outcome(seed, tmp_path, path.read_bytes()) in (READ, NAMED, REFUSED)
    assert like


def test_every_format_is_a_target():
    """What a format's own writer makes is a seed, beside the samples, and nothing in tests/fuzz names a format."""
    for format in (*TSP_FORMATS, *GRAPH_FORMATS):
        seeds = TARGETS[format.name].seeds
        assert seeds, f"the format {format.name} is never damaged: add a sample to tests/formats/samples.py"
        assert (format.write is not None) == any(seed.file.startswith("written") for seed in seeds)
    assert {sample.format for sample in samples()} <= set(TARGETS)


def test_every_algorithm_has_results_and_checkpoints():
    for name in NAMES:
        assert any(f'"{name}"' in text for text in results.JOBS.values())


def test_mutants_of_published_files(data_dir, tmp_path):
    for name, found in itertools.groupby(published(data_dir), lambda sample: sample.format):
        require_refusals(Target(name, tuple(found)), 60, tmp_path)


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """Return the targets that read what hpcsolve wrote. The long form has a result of every kind."""
    jobs = {name: results.JOBS[name] for name in ("tour", "tree", "queries")}
    return {target.name: target for target in solved_targets(tmp_path_factory.mktemp("solved"), jobs)}


@pytest.mark.parametrize(("name", "count"), [
    ("result", 40), ("result bytes", 30), ("checkpoint", 100), ("manifest", 100), ("lease", 100)])
def test_damaged_results_and_checkpoints(name, count, solved, tmp_path):
    if name == "result bytes":  # nearly all damage is found by the seal
        assert not try_numbers(solved[name], 1, range(count), tmp_path, tmp_path).failures
    else:
        require_refusals(solved[name], count, tmp_path)


def test_every_byte_of_real_checkpoints(solved, tmp_path):
    """Each byte flipped and each truncation is detected and said, and the generation before used (`detecting`)."""
    smallest = sorted(solved["checkpoint"].seeds, key=lambda sample: len(sample.content))[:2]
    assert {Path(sample.file).suffix for sample in smallest} <= {".manifest", ".data"}
    for sample in smallest:
        assert outcome(sample, tmp_path, sample.content) == READ
        for content in mutants(sample.content):
            assert outcome(sample, tmp_path, content) == REFUSED


def test_what_is_no_refusal_is_seen(tmp_path):
    """The judge notices other exceptions, several lines, messages without file or line, dead processes and hangs."""
    sample = samples()[0]

    def refusing(message, file=None, line=None):
        def reader(path):
            raise InputError(message, file and path, line)

        return replace(sample, reader=reader)

    def refuse(message):
        error = DamagedFileError()
        error.args = (message,)  # an error makes one line of what it is given
        raise error

    assert outcome(refusing("no", "file", 3), tmp_path, b"x") == NAMED
    assert outcome(refusing("no", "file"), tmp_path, b"\x1f\x8b") == REFUSED
    assert outcome(refusing("no", "file"), tmp_path, b"x") == "refused: FILE: no"
    two_lines = replace(sample, reader=lambda path: refuse(f"{path}: one\ntwo"))
    for wrong in (refusing("no"), two_lines):
        with pytest.raises(AssertionError):
            outcome(wrong, tmp_path, b"x")
    with pytest.raises(ZeroDivisionError):
        outcome(replace(sample, reader=lambda path: 1 // 0), tmp_path, b"x")
    with pytest.raises(AssertionError, match=r"\d s"):
        outcome(replace(sample, reader=lambda path: sum(range(10**6))), tmp_path, b"x", slow=0.001)


def test_a_process_that_dies_is_counted(tmp_path):
    def reader(path):
        return os.kill(os.getpid(), 9) if len(Path(path).read_bytes()) % 2 else None

    killer = replace(samples()[0], reader=reader)
    tally = in_process(Target("killer", (killer,)), 1, range(12), tmp_path)
    assert sum(tally.outcomes.values()) == 12 and 0 < tally.outcomes["died"] < 12
    (failure,) = tally.failures
    assert "exit code -9" in failure and len(tally.failures[failure]) == tally.outcomes["died"]


def test_a_change_of_a_checkpoint_that_is_not_noticed_is_seen(solved, tmp_path, monkeypatch):
    sample = next(sample for sample in solved["checkpoint"].seeds if sample.file.endswith(".data") and sample.content)
    monkeypatch.setattr(checkpoints, "newest", lambda folder, comm, warn: checkpoints.Saved(
        folder, store.read_manifest(folder, max(store.generations(folder)))))
    with pytest.raises(AssertionError, match="the generation before"):
        outcome(sample, tmp_path, mutant(sample.content, random.Random(1)))
