"""What is raised while libhdf5 writes through a Python file, or lost there, never makes an incomplete result file."""

import numpy as np
import pytest

from hpcsolve.output import large_tables
from tests.cli.test_tables import write

KEPT = large_tables._FailureKeeper


def calls_of(monkeypatch, event):
    """Call `event` in place of each write of libhdf5 to the file, and return a list that gets all calls."""
    calls = []

    class Struck(KEPT):
        def write(self, data):
            calls.append(len(data))
            return event(len(calls), super().write, data)

    monkeypatch.setattr(large_tables, "_FailureKeeper", Struck)
    return calls


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, None], ids=["Ctrl-C", "memory", "lost"])
def test_a_write_that_is_lost_below_libhdf5_leaves_the_old_file(error, tmp_path, monkeypatch):
    """Whatever happens to the n-th write, for every n: the file is whole, or the old one stays and that is said."""
    values, path = np.arange(4000, dtype=np.uint32).reshape(4, 1000), tmp_path / "r.h5"
    refused = []

    def lost(wanted):
        def event(number, write, data):
            if number != wanted:
                return write(data)
            if error is not None:
                raise error
            return len(data)

        return event

    calls = calls_of(monkeypatch, lost(0))
    write(path, values)
    whole = path.read_bytes()
    path.write_bytes(b"old")
    for wanted in range(1, len(calls) + 1):
        calls_of(monkeypatch, lost(wanted))
        try:
            write(path, values)
        except BaseException as raised:  # noqa: BLE001 (what it is depends on where libhdf5 was, and on its version)
            assert path.read_bytes() == b"old"
            refused.append(raised)
        else:
            assert path.read_bytes() == whole, f"write {wanted}"
            path.write_bytes(b"old")
        assert [p.name for p in tmp_path.iterdir()] == ["r.h5"]
    assert len(refused) > len(calls) / 2 > 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_failure_below_libhdf5_is_raised_at_the_end(error, tmp_path, monkeypatch):
    def event(number, write, data):
        if number == 2:
            monkeypatch.setattr("hpcsolve.output.large_tables._FailureKeeper._attempt", attempt)
        return write(data)

    def attempt(self, function, *arguments):
        monkeypatch.undo()
        return KEPT._attempt(self, struck, *arguments)

    def struck(*arguments):
        raise error

    calls_of(monkeypatch, event)
    with pytest.raises(error):
        write(tmp_path / "r.h5", np.zeros((2, 2), np.uint32))
    assert list(tmp_path.iterdir()) == []
