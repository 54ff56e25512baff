"""Damaged files (mutants) are either read, or refused at once in one line that names the line of the file.

HPCSOLVE_MUTANTS is the number of mutants per file. `python -m tests.mutants` tries as many as time allows.
"""

import os
import random
from dataclasses import replace

import pytest

from hpcsolve.errors import InputError
from tests.formats.samples import published, samples
from tests.mutants import mutant, outcome

COUNT = int(os.environ.get("HPCSOLVE_MUTANTS", "60"))
NAMES = [sample.name for sample in samples()]


def try_mutants(sample, folder, must_read):
    """Check that some mutants of a file are refused, and that at least `must_read` of them are read."""
    assert outcome(sample, folder, sample.content) == "read"
    chance, found = random.Random(sample.name), {}
    for _ in range(COUNT):
        result = outcome(sample, folder, mutant(sample.content, chance))
        found[result] = found.get(result, 0) + 1
    refused = found.get("refused with a line", 0) + found.get("refused", 0)
    assert set(found) <= {"read", "refused with a line", "refused"}, "a refusal names no line"
    assert refused >= COUNT // 8 and found.get("read", 0) >= must_read, "the mutants must reach both ends"


@pytest.mark.parametrize("name", NAMES)
def test_mutants_of_samples(tmp_path, name):
    sample = next(sample for sample in samples() if sample.name == name)
    try_mutants(sample, tmp_path, must_read=0 if sample.file.endswith((".gz", ".xz", ".npy", ".npz")) else 1)


def test_mutants_of_published_files(data_dir, tmp_path):
    for sample in published(data_dir):
        try_mutants(sample, tmp_path, must_read=1)


def test_what_is_no_refusal_is_seen(tmp_path):
    """The check of mutants itself notices other exceptions, several lines, and messages without file or line."""
    sample = samples()[0]

    def refusing(message, file=None, line=None):
        def reader(path):
            raise InputError(message, file and path, line)

        return replace(sample, reader=reader)

    assert outcome(refusing("no", "file", 3), tmp_path, b"x") == "refused with a line"
    assert outcome(refusing("no", "file"), tmp_path, b"\x1f\x8b") == "refused"
    assert outcome(refusing("no", "file"), tmp_path, b"x") == "refused: FILE: no"
    for wrong in (refusing("no"), refusing("one\ntwo", "file", 3)):
        with pytest.raises(AssertionError):
            outcome(wrong, tmp_path, b"x")
    with pytest.raises(ZeroDivisionError):
        outcome(replace(sample, reader=lambda path: 1 // 0), tmp_path, b"x")
