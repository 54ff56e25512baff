"""What commands print with `--json` is JSON that says what their lines say."""

import csv
import io
import json
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hpcsolve as package
from hpcsolve.output.json_text import json_text

SQUARE = "0,3,4,9.5\n3,0,9,4\n4,9,0,3\n9.5,4,3,0\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a result, one whose cost no float has, and a file that is no result."""
    path = tmp_path_factory.mktemp("json")
    (path / "square.csv").write_text(SQUARE)
    (path / "large.csv").write_text("0,{0},{0}\n{0},0,{0}\n{0},{0},0\n".format("12345678901234.567"))
    for name in ("square", "large"):
        package.solve(path / f"{name}.csv", output=path / f"{name}.h5", device="cpu", threads=1)
    (path / "bad.h5").write_bytes((path / "square.h5").read_bytes()[:-200])
    return path


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_values_come_back(value):
    assert json.loads(json_text(value)) == value


@pytest.mark.parametrize(("value", "text"), [
    (float("nan"), "null"), (np.inf, "null"), (Decimal("37"), "37"), (Decimal("0.1"), "0.1"), (np.int64(7), "7"),
    (Decimal("37037036703703.701"), '"37037036703703.701"'), (Decimal("1e3"), "1000"),
])
def test_numbers(value, text):
    assert json_text(value) == text


def test_verify(folder, hpcsolve):
    done = hpcsolve("verify", folder / "square.h5", "--json")
    (found,) = json.loads(done.stdout)
    plain = hpcsolve("verify", folder / "square.h5").stdout.splitlines()
    assert done.returncode == 0 and found["passed"] is True and found["file"] == str(folder / "square.h5")
    assert plain[-1] == f"check:  PASS ({found['reason']})"
    assert "\n".join(plain[:-1]) == "\n".join(f"{word + ':':8}{text}" for word, text in found["answer"].items())
    done = hpcsolve("verify", folder / "square.h5", folder / "bad.h5", "--json")
    good, bad = json.loads(done.stdout)
    assert done.returncode != 0 and good["passed"] and not bad["passed"] and bad["answer"] is None and bad["reason"]


def test_a_tour_of_several_lines(folder, hpcsolve):
    names = [f"a place with a long name, {i}" for i in range(6)]
    table = "\n".join(f'"{name}",48.{i},16.{i * i}' for i, name in enumerate(names))
    (folder / "long.csv").write_text(f"name,lat,lon\n{table}\n")
    found = package.solve(folder / "long.csv", output=folder / "long.h5", device="cpu", threads=1)
    assert len(hpcsolve("verify", folder / "long.h5").stdout.splitlines()) > 3
    answer = json.loads(hpcsolve("verify", folder / "long.h5", "--json").stdout)[0]["answer"]
    assert list(answer) == ["tour", "cost"] and answer["tour"] == " - ".join(names[i] for i in found.tour)


def test_run_and_solve(folder, hpcsolve):
    done = hpcsolve("solve", "square.csv", "--device", "cpu", "--json", "--output", "new.h5", cwd=folder)
    found = json.loads(done.stdout)
    (verified,) = json.loads(hpcsolve("verify", "new.h5", "--json", cwd=folder).stdout)
    assert done.returncode == 0 and done.stderr == ""
    reason, not_again = verified["reason"].split("; ")
    assert not_again == "that it is optimal was not checked, since its proof is the search itself"
    assert found == {**verified, "reason": reason, "complete": True}
    (folder / "again.toml").write_text('algorithm = "held-karp"\ninstance = "square.csv"\noutput = "new.h5"\n')
    done = hpcsolve("run", "again.toml", "--device", "cpu", "--json", "--log-dir", "logs", cwd=folder)
    assert json.loads(done.stdout) == {**found, "reason": "when it was solved"}
    assert "this job is done already" in (folder / "logs/rank-0000.log").read_text()
    done = hpcsolve("solve", "none.csv", "--json", cwd=folder)
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1
    (folder / "ants.toml").write_text('algorithm = "ant-colony"\ninstance = "square.csv"\noutput = "no/\\u0000"\n')
    assert hpcsolve("run", "ants.toml", "--json", cwd=folder).stdout == ""


def test_collect(folder, hpcsolve):
    names = (folder / "square.h5", folder / "large.h5")
    rows = json.loads(hpcsolve("collect", *names, "--json").stdout)
    table = list(csv.DictReader(io.StringIO(hpcsolve("collect", *names).stdout)))
    assert [list(row) for row in rows] == [list(row) for row in table]
    for row, texts in zip(rows, table):
        for name, value in row.items():
            text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
            assert text == texts[name] or float(text) == float(texts[name])
    assert "37037036703703.701" in [row["cost"] for row in rows] and 14 in [row["cost"] for row in rows]
    done = hpcsolve("collect", *names, "--json", "-o", folder / "table.json")
    assert done.returncode == 0 and json.loads((folder / "table.json").read_text()) == rows


def test_estimate_and_info(folder, hpcsolve):
    (folder / "job.toml").write_text('algorithm = "held-karp"\ninstance = "square.csv"\ndevice = "cpu"\n')
    done = hpcsolve("estimate", folder / "job.toml", "--json", "-n", "2")
    found = json.loads(done.stdout)
    assert done.returncode == 0 and (found["algorithm"], found["size"], found["ranks"]) == ("held-karp", 4, 2)
    assert found["fits"] is True and len(found["device_bytes"]) == 2 and found["seconds"]["total"] > 0
    (folder / "large.toml").write_text(
        'algorithm = "held-karp"\ninstance = { generate = "random-matrix", n = 22 }\ndevice = "cpu"\n')
    done = hpcsolve("estimate", folder / "large.toml", "--json", "--memory", "1M")
    found = json.loads(done.stdout)
    assert (done.returncode, found["fits"], found["free_bytes"]) == (3, False, 2**20) and found["largest_size"] < 22
    found = json.loads(hpcsolve("info", "--json").stdout)
    assert found["hpcsolve"].startswith(package.__version__) and len(found["ranks"]) == 1
    assert isinstance(found["problems"], list)
