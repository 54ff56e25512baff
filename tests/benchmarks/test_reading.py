"""The benchmark of reading, at its smallest."""

from pathlib import Path

from tests.markdown import tables


def test_the_table(program):
    here = str(Path(__file__).parents[2])
    done = program("reading", "7", "--repeats", "1", "--other", here)
    assert done.returncode == 0, done.stderr
    rows = tables(done.stdout)[0]
    assert [row["cities"] for row in rows] == ["7, TSPLIB", "7, CSV of places"]
    assert all(0 < float(row["CPU s"]) < 60 and float(row["other: CPU s"]) > 0 for row in rows)
