"""Checkpoints whose hashes are right and whose contents are forged end a run in one line, never by a crash or a bug.

The long form (`make test-faults`) forges every part and every number in each way, here some of them.
"""

import json
import os
import random

import pytest

from tests.faults.conftest import ALL_FAULTS
from tests.fuzz import checkpoints

CHANCE = random.Random(1)
CONTENTS = {
    "zeros": lambda old: bytes(len(old)),
    "ones": lambda old: b"\xff" * len(old),
    "random": lambda old: CHANCE.randbytes(len(old)),
    "beyond any index": lambda old: (bytes(7) + b"\x3f") * (len(old) // 8) + old[: len(old) % 8],
}
NUMBERS = (-1, 0, 1, 2**61, "x", 0.5)
SOME = 3
"""Forged parts, and forged numbers, that are tried of each state, unless all are."""


def same(name, content):
    return content


@pytest.mark.parametrize("name", checkpoints.FORGED)
def test_a_forged_checkpoint_is_refused_or_harmless(name, tmp_path, capsys):
    """Exit code 0 if what is forged does not matter, 1 if the check of the answer found it, else 5 in one line."""
    CHANCE.seed(name)  # the choice does not depend on which tests came before
    codes = []

    def tried(change, **numbers):
        checkpoints.forge(files, change, numbers, tmp_path)
        codes.append(checkpoints.resumed(tmp_path))
        said = capsys.readouterr().err.splitlines()
        if codes[-1] == 5:
            assert len(said) == 1 and said[0].endswith("; remove the folder to begin anew"), said
            assert f"{tmp_path}/out.h5.checkpoint: " in said[0]
        assert codes[-1] in (0, 1, 5), (numbers, said)
        return codes[-1]

    for files in checkpoints.states_of(tmp_path, checkpoints.FORGED[name]):
        manifest = json.loads(next(text for key, text in files.items() if key.endswith(".manifest"))[:-66])
        parts = sorted({piece["name"] for file in manifest["files"] for piece in file["pieces"]})
        assert tried(same) == 0, "it is a checkpoint to go on from"
        numbers = [(key, value) for key in manifest["numbers"] for value in NUMBERS]
        pairs = [(part, forged) for part in ["", *parts] for forged in CONTENTS.values()]
        for key, value in numbers if ALL_FAULTS else CHANCE.sample(numbers, SOME):
            tried(same, **{key: value})
        for one, forged in pairs if ALL_FAULTS else CHANCE.sample(pairs, min(SOME, len(pairs))):
            tried(lambda part, old, one=one, forged=forged: forged(old)  # type: ignore[misc]
                  if one in ("", part) else old)
    assert codes.count(5) >= 2


@pytest.mark.parametrize("suffix", [".manifest", ".data"])
def test_a_link_or_a_pipe_in_a_checkpoint_folder_is_not_followed(suffix, tmp_path, capsys):
    """A link even to the right file is refused, and nobody waits for the other end of a pipe."""
    *_, files = checkpoints.states_of(tmp_path, checkpoints.FORGED["colonies"])
    for kind, words in (("link", "is a link, which no run writes"), ("pipe", "is no regular file")):
        checkpoints.forge(files, same, {}, tmp_path)
        file = next((tmp_path / checkpoints.FOLDER).glob(f"*{suffix}"))
        if kind == "link":
            file.rename(tmp_path / file.name)
            file.symlink_to(tmp_path / file.name)
        else:
            file.unlink()
            os.mkfifo(file)
        assert checkpoints.resumed(tmp_path) == 5
        line = f"hpcsolve: error: {file}: {words}: no checkpoint is whole; remove {file.parent} to begin anew"
        assert capsys.readouterr().err.splitlines() == [line]
