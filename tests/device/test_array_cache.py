"""The cache of arrays returns what was saved or nothing, whatever happened to its files, and keeps to its size."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from hpcsolve.cli import main
from hpcsolve.device import array_cache

ARRAYS = {
    "a": np.arange(12, dtype=np.uint32).reshape(3, 4),
    "none": np.empty((0, 2)),
    "b": np.array([2**63], np.uint64),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder of the files."""
    monkeypatch.setenv("HPCSOLVE_CACHE", str(tmp_path))
    return tmp_path / array_cache.FOLDER


def key(number: int = 0) -> str:
    return array_cache.key_of([str(number)], [])


def same(found: object, expected: dict[str, np.ndarray] = ARRAYS) -> bool:
    """Whether these arrays were loaded."""
    return isinstance(found, dict) and list(found) == list(expected) and all(
        found[name].dtype == array.dtype and np.array_equal(found[name], array) for name, array in expected.items())


def test_what_was_saved_is_loaded(folder: Path) -> None:
    assert array_cache.load(key()) is None
    array_cache.save(key(), ARRAYS)
    found = array_cache.load(key())
    assert found is not None and same(found) and not found["a"].flags.writeable
    assert (folder.stat().st_mode & 0o777, os.listdir(folder)) == (0o700, [f"{key()}.arrays"])
    assert array_cache.clear() == 1 and array_cache.load(key()) is None


def test_the_key_tells_types_shapes_values_and_texts_apart() -> None:
    arrays = [np.zeros(4, np.uint32), np.zeros(2, np.uint64), np.zeros((2, 2), np.uint32), np.ones(4, np.uint32)]
    keys = [array_cache.key_of([], [array]) for array in arrays] + [array_cache.key_of(["0"], [arrays[0]])]
    keys += [array_cache.key_of([], [arrays[0], np.empty(0)]), array_cache.key_of(["a", "b"], [])]
    assert len({*keys, array_cache.key_of(["ab"], [])}) == 8


def test_damage_is_noticed(folder: Path) -> None:
    array_cache.save(key(), ARRAYS)
    path, = array_cache.files()
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert array_cache.load(key()) is None
    for position in range(0, len(whole), 3):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 4]) + whole[position + 1 :])
        assert array_cache.load(key()) is None
    path.write_bytes(whole)
    path.rename(folder / f"{key(1)}.arrays")
    assert array_cache.load(key(1)) is None, "another name"
    array_cache.save(key(1), ARRAYS)
    assert same(array_cache.load(key(1)))


def test_links_folders_and_files_of_others_are_not_read(folder: Path) -> None:
    array_cache.save(key(), ARRAYS)
    path, elsewhere = array_cache.files()[0], folder.parent / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert array_cache.load(key()) is None
    array_cache.save(key(), ARRAYS)
    assert same(array_cache.load(key())) and not path.is_symlink()
    path.unlink()
    path.mkdir()
    assert array_cache.load(key()) is None
    array_cache.save(key(), ARRAYS)
    path.rmdir()
    if os.geteuid() == 0:
        array_cache.save(key(), ARRAYS)
        os.chown(path, 12345, 12345)
        assert array_cache.load(key()) is None


def test_the_least_recently_used_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_cache, "MOST_BYTES", 25_000)
    large = {"x": np.zeros(1000)}
    for number in range(3):
        array_cache.save(key(number), large)
        os.utime(array_cache.files()[0].with_name(f"{key(number)}.arrays"), (number, number))
    assert same(array_cache.load(key(0)), large), "used now"
    array_cache.save(key(3), large)
    assert [array_cache.load(key(number)) is not None for number in range(4)] == [True, False, True, True]
    assert array_cache.nbytes(array_cache.files()) <= 25_000
    array_cache.save(key(4), {"x": np.zeros(2000)})
    assert array_cache.load(key(4)) is None, "too large for the cache"


def test_a_cache_that_cannot_be_used_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write_text("a file in its place")
    array_cache.save(key(), ARRAYS)
    assert array_cache.load(key()) is None
    monkeypatch.setenv("HPCSOLVE_CACHE", "/proc/nothing")
    array_cache.save(key(), ARRAYS)
    assert array_cache.load(key()) is None


def test_info_says_the_size_and_empties_the_cache(capsys: pytest.CaptureFixture[str]) -> None:
    array_cache.save(key(), {"x": np.zeros(1 << 17)})
    array_cache.save(key(1), ARRAYS)
    for options, words in (([], "2 files of hierarchies 1 MiB"), (["--clear-cache"], "0 files"), ([], "0 files")):
        assert main(["info", *options]) == 0
        assert words in next(line for line in capsys.readouterr().out.splitlines() if line.startswith("cache "))


def test_a_failure_while_saving_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, *_: object) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "no space left")

    monkeypatch.setattr(array_cache, "write_arrays", full)
    array_cache.save(key(), ARRAYS)
    assert os.listdir(folder) == []


def test_saving_and_loading_at_the_same_time() -> None:
    """Every load finds all or nothing, and after the first save all."""
    large = {"x": np.arange(100_000)}
    found = []

    def work() -> None:
        for _ in range(20):
            found.append(array_cache.load(key()))
            array_cache.save(key(), large)
            found.append(array_cache.load(key()))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(each is None or same(each, large) for each in found)
    assert sum(each is None for each in found) <= 3
