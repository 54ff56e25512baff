"""Whatever happens to the files of a checkpoint is found, the generation before is used, and that is said."""

import json

import numpy as np
import pytest

from hpcsolve.checkpoint import store
from hpcsolve.checkpoint.checkpoints import Checkpoints, Writer, remove_checkpoints
from hpcsolve.checkpoint.saved import Saved, newest
from hpcsolve.checkpoint.store import LeaseLost, Manifest, State, part, take_lease
from hpcsolve.errors import DamagedFileError, EnvironmentFault
from hpcsolve.parallel.comm import SerialComm
from tests.thread_comm import on_ranks

JOB = "0" * 64


def write(folder, *numbers):
    """Write a generation for each number, which is all that its state holds, and return the lease."""
    lease = take_lease(folder)
    writer = Writer(folder, SerialComm(), lease, JOB, None)
    for number in numbers:
        row = part("row", 2, np.full((3, 2), number, np.uint16))
        writer.write(State({"number": number}, [row], f"after {number}"))
    return lease


def found(folder):
    """Return the generation that a run would go on from, and what it would say."""
    said = []
    return newest(folder, SerialComm(), said.append), said


def mutants(content):
    """Return the content with a bit of each byte flipped in turn, cut at each length, and with a byte behind it."""
    flipped = [content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :] for at in range(len(content))]
    return [*flipped, *(content[:length] for length in range(len(content))), content + b"\0"]


@pytest.mark.parametrize("suffix", ["manifest", "data"])
def test_every_flipped_byte_and_every_truncation(suffix, tmp_path):
    write(tmp_path, 1, 2, 3)
    path = max(tmp_path.glob(f"*.{suffix}"))
    content = path.read_bytes()
    tried = mutants(content)
    assert len(tried) == 2 * len(content) + 1
    for mutant in tried:
        path.write_bytes(mutant)
        saved, said = found(tmp_path)
        assert saved is not None and saved.integer("number") == 2
        assert len(said) == 1 and path.name in said[0] and said[0].endswith("the checkpoint before is used")
    path.write_bytes(content)
    assert found(tmp_path)[0].integer("number") == 3  # type: ignore[union-attr]


def test_a_missing_file_is_found(tmp_path):
    write(tmp_path, 1, 2)
    max(tmp_path.glob("*.data")).unlink()
    saved, said = found(tmp_path)
    assert saved is not None and saved.integer("number") == 1
    assert "No such file or directory" in said[0]


def test_two_generations_are_kept_and_two_damaged_ones_end_the_run(tmp_path):
    write(tmp_path, 1, 2, 3)
    assert sorted(store.generations(tmp_path)) == [2, 3] and len(list(tmp_path.iterdir())) == 5
    for path in tmp_path.glob("*.data"):
        path.write_bytes(b"")
    with pytest.raises(DamagedFileError, match=r"no checkpoint is whole; remove .* to begin anew") as raised:
        found(tmp_path)
    assert raised.value.exit_code == 5


def test_a_manifest_that_lies_is_refused(tmp_path):
    """With a right hash too: no name leads out of the folder, no size is believed that the data file has not."""
    write(tmp_path, 1)
    path = next(tmp_path.glob("*.manifest"))
    text = path.read_bytes()[:-66]
    good = json.loads(text)

    def refused(**change):
        piece = {**good["files"][0]["pieces"][0], **{key: value for key, value in change.items() if key in PIECE}}
        file = {**good["files"][0], "pieces": [piece], **{k: v for k, v in change.items() if k not in PIECE}}
        content = json.dumps({**good, "files": [file]}).encode()
        path.write_bytes(content + store.sealed_by(content))
        try:
            return found(tmp_path)[0] is None
        except DamagedFileError:
            return True

    assert not refused()
    for change in ({"name": "../lease"}, {"dtype": "|O8"}, {"shape": [2**40, 2]}, {"shape": []}, {"offset": 4},
                   {"shape": [-3, 2]}, {"size": 2**50}, {"dtype": "<V2"}, {"more": 1}, {"sha256": "x"}):
        named = {("file" if key == "name" else key): value for key, value in change.items()}
        assert refused(**({"name": named["file"]} if "file" in named else named)), change


@pytest.mark.parametrize("text", [b'{"x": ' + b"[" * 10_000, b'{"x": "\xff"}', b"[]", b""])
def test_what_is_no_manifest_or_lease_is_told_in_a_line(text, tmp_path):
    lease = write(tmp_path, 1)
    next(tmp_path.glob("*.manifest")).write_bytes(text + store.sealed_by(text))
    with pytest.raises(DamagedFileError, match="not a manifest of this version"):
        found(tmp_path)
    (tmp_path / "lease").write_bytes(text)
    with pytest.raises(LeaseLost, match="gone"):
        lease.require()


PIECE = ("first", "shape", "dtype", "offset")


def test_rows_come_back_on_other_ranks(tmp_path):
    """Three ranks write rows 0 to 8 and pairs without numbers. Any ranges of them can be read."""
    table = np.arange(27, dtype=np.int64).reshape(9, 3)

    def kept(comm):
        rank = comm.rank  # type: ignore[attr-defined]
        lease = take_lease(tmp_path) if rank == 0 else None
        rows = part("table", 3 * rank, table[3 * rank : 3 * rank + 3])
        own = part("pairs", 0, np.full((rank, 2), rank, np.uint32))
        Writer(tmp_path, comm, lease, JOB, None).write(State({"rank": rank}, [rows, own], ""))  # type: ignore[arg-type]

    on_ranks(3, kept)
    saved, _ = found(tmp_path)
    assert saved is not None and saved.integer("rank") == 0
    for start in range(10):
        for stop in range(start, 10):
            rows = saved.rows("table", range(start, stop), (3,), np.int64)
            assert np.array_equal(rows, table[start:stop])
    assert saved.gathered("pairs", (2,), np.uint32, range(4), range(1, 3)).tolist() == [[1, 1], [2, 2], [2, 2]]
    assert saved.ranges("table", range(2, 7)) == [range(2, 3), range(3, 6), range(6, 7)]
    with pytest.raises(DamagedFileError, match="the stored rows of table do not fill rows 7 to 9 once each"):
        saved.rows("table", range(7, 10), (3,), np.int64)
    with pytest.raises(DamagedFileError, match="not as <i4"):
        saved.rows("table", range(2), (3,), np.int32)
    with pytest.raises(DamagedFileError, match="pairs has 3 rows, which does not fit this job; remove the folder"):
        saved.gathered("pairs", (2,), np.uint32, range(3))
    with pytest.raises(DamagedFileError, match="pairs has values from 1 to 2, which do not fit this job"):
        saved.gathered("pairs", (2,), np.uint32, range(4), range(2))


@pytest.mark.parametrize("firsts", [(0, 0), (0, 2), (0, 4)])
def test_rows_that_are_stored_twice_or_not_at_all_are_refused(firsts, tmp_path):
    """Six rows are stored of the six that are wanted, but not each of them."""
    parts = [part("table", first, np.zeros((3, 2), np.int64)) for first in firsts]
    Writer(tmp_path, SerialComm(), take_lease(tmp_path), JOB, None).write(State({}, parts, ""))
    saved, _ = found(tmp_path)
    assert saved is not None
    with pytest.raises(DamagedFileError, match="the stored rows of table do not fill rows 0 to 5 once each"):
        saved.rows("table", range(6), (2,), np.int64)


def test_numbers_that_no_run_writes_are_refused(tmp_path):
    """Integers beyond their bounds, texts that are not known, times that are none, and what is of another kind."""
    for value in (-1, 5, 2.5, "2", -0.5, 1e300):
        saved = Saved(tmp_path, Manifest(JOB, "", 1, {"number": value, "seconds": value}, "", ()))
        refused = f"^{tmp_path}: .*; remove the folder to begin anew$"
        with pytest.raises(DamagedFileError, match=refused):
            saved.integer("number", 0, 4)
        with pytest.raises(DamagedFileError, match=refused):
            saved.text("number", "a")
        if value not in (5, 2.5):
            with pytest.raises(DamagedFileError, match=refused):
                saved.seconds()


def test_a_full_disk_leaves_the_checkpoints_before(tmp_path, monkeypatch):
    """Whichever of the writes fails: those of the data, of the manifest, its rename."""
    writer = Writer(tmp_path, SerialComm(), take_lease(tmp_path), JOB, None)
    row = [part("row", 0, np.zeros(4))]
    writer.write(State({"number": 1}, row, ""))
    for name in ("hpcsolve.checkpoint.store.os.fsync", "hpcsolve.checkpoint.store.os.replace"):
        with monkeypatch.context() as patch:
            patch.setattr(name, full)
            with pytest.raises(EnvironmentFault, match="No space left on device"):
                writer.write(State({"number": 2}, row, ""))
        saved, said = found(tmp_path)
        assert saved is not None and saved.manifest.generation == 1 and not said
    writer.write(State({"number": 2}, row, ""))
    assert found(tmp_path)[0].manifest.generation == 4  # type: ignore[union-attr]
    assert len(list(tmp_path.iterdir())) == 5, "nothing is left of the failed ones"


def full(*_):
    raise OSError(28, "No space left on device")


def test_a_folder_in_place_of_a_manifest_does_not_end_the_run(tmp_path):
    """The run goes on, as with a full disk. A mistake of the user would have ended it."""
    lines = []
    writer = Writer(tmp_path, SerialComm(), take_lease(tmp_path), JOB, None)
    checkpoints = Checkpoints(writer=writer, warn=lines.append)
    (tmp_path / "00000001.manifest").mkdir()
    checkpoints.save(State({"number": 1}, [], ""), last=False)
    assert lines == [f"hpcsolve: no checkpoint was written: {tmp_path}: what is no regular file has the name of "
                     "the next manifest; choose another --checkpoint-dir; the run goes on"]
    checkpoints.save(State({"number": 2}, [], ""), last=True)
    assert len(lines) == 1 and found(tmp_path)[0].integer("number") == 2  # type: ignore[union-attr]


def test_a_run_that_lost_its_lease_writes_nothing(tmp_path, monkeypatch):
    first = Writer(tmp_path, SerialComm(), take_lease(tmp_path), JOB, None)
    first.write(State({"number": 1}, [], ""))
    monkeypatch.setenv("SLURM_JOB_ID", "34")
    monkeypatch.setenv("SLURM_RESTART_COUNT", "2")
    second = Writer(tmp_path, SerialComm(), take_lease(tmp_path), JOB, None)
    with pytest.raises(LeaseLost, match=r"this job, process \d+ on \S+ \(Slurm job 34, restart 2\), has taken"):
        first.write(State({"number": 2}, [], ""))
    second.write(State({"number": 2}, [], ""))
    remove_checkpoints(second.folder, print)
    assert not tmp_path.exists()
    with pytest.raises(LeaseLost, match="gone"):
        first.require_lease()


def test_the_same_state_is_not_written_twice(tmp_path):
    write(tmp_path, 1, 1, 2, 2)
    assert store.generations(tmp_path) == [2, 1]


def test_only_our_own_files_are_removed(tmp_path):
    write(tmp_path, 1)
    (tmp_path / "notes.txt").write_text("mine")
    store.remove(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
