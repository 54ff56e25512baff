"""Job files read back as they were written, and each mistake is one line that says where it is."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.errors import InputError
from hpcsolve.job import job_from_table, load_job, parsed_value
from hpcsolve.output.toml import toml_text, too_deep
from hpcsolve.runner.planned import plan_run

JOBS = Path(__file__).resolve().parents[2] / "jobs"
GOOD = 'algorithm = "held-karp"\ninstance = "a.tsp"\n'

TOO_DEEP = "lists, tables or the parts of a key are nested more than 32 deep"
MISTAKES = {
    "unknown key": (GOOD + "sede = 1\n", ":3: sede: unknown key; did you mean seed?"),
    "unknown key of a table": (GOOD + "[held-karp]\npat = 1\n", ":4: held-karp.pat: unknown key; did you mean path?"),
    "nothing near": (GOOD + "zzz = 1\n", "zzz: unknown key; the keys are algorithm, instance,"),
    "a key of a table": (GOOD + 'path = "open"\n[held-karp]\n', ":3: path: unknown key; did you mean path in the"),
    "a key of no table": (GOOD + "[held-karp]\nseed = 2\n", ":4: held-karp.seed: unknown key; did you mean seed abo"),
    "a key of stop": (GOOD + "secnds = 2\n", ":3: secnds: unknown key; did you mean seconds in the table [stop]?"),
    "unknown key of stop": (GOOD + "[stop]\nsecs = 2\n", ":4: stop.secs: unknown key; did you mean seconds?"),
    "choice": (GOOD + '[held-karp]\n\npath = "ring"\n', ":5: held-karp.path: 'ring' is not \"cycle\" or \"open\""),
    "type": (GOOD + 'seed = "x"\n', ":3: seed: expected integer, got text"),
    "boolean": (GOOD + "share-gpu = 1\n", ":3: share-gpu: expected true or false, got integer"),
    "range": (GOOD + "threads = 0\n", ":3: threads: expected integer >= 1, got 0"),
    "negative seed": (GOOD + "seed = -1\n", ":3: seed: expected integer >= 0, got -1"),
    "a text of bytes": (GOOD + '[stop]\nmemory = "60 MB"\n',
                        ':4: stop.memory: expected integer, got text "60 MB"; meaning: Bytes that a rank may take'),
    "a text of seconds": (GOOD + '[stop]\nseconds = "1 h"\n', 'got text "1 h"; meaning: Seconds since the start of'),
    "no time": (GOOD + "[stop]\nseconds = 0\n", ":4: stop.seconds: expected number > 0.0, got 0; meaning: Seconds"),
    "value in a list": (GOOD + "[held-karp]\nposition = [[3, 1], [2, 0]]\n",
                        ":4: held-karp.position[1][1]: expected integer >= 1, got 0; meaning: Pairs [[city, k]"),
    "large seed": (GOOD + "seed = 99999999999999999999\n", ":3: seed: expected integer"),
    "no table": (GOOD + "held-karp = 1\n", ":3: held-karp: expected a table"),
    "stop": (GOOD + "[held-karp]\nmethod = 'lattice'\n[stop]\nseconds = 60.0\n",
             ":6: stop.seconds: held-karp has no partial answer"),
    "stop of prizes": (GOOD + "[held-karp]\nobjective = 'prize'\n[stop]\nseconds = 60.0\n",
                       ':6: stop.seconds: held-karp has no partial answer with objective = "prize", so it cannot be'),
    "TOML": (GOOD + "seed = tru\n", ":3: not a valid TOML file: Invalid value"),
    "a graph": ("33D32945 STP File, STP Format Version 1.0\n", "at column 10; is it an instance? hpcsolve solve "),
    "an instance": ("NAME : x\nDIMENSION : 3\n", "at column 6; is it an instance? hpcsolve solve "),
    "no algorithm": ('instance = "a"\n', ":1: the key algorithm is missing"),
    "no instance": ('algorithm = "held-karp"\n', ":1: the key instance is missing"),
    "endless integer": (GOOD + "seed = " + "4" * 5000 + "\n", ":3: not a valid TOML file: an integer of thousands of"),
    "nested": (GOOD + "seed = " + "[" * 3000 + "\n", f":3: not a valid TOML file: {TOO_DEEP}"),
    "parts": (GOOD + "seed = 1\n[a]\n" + "a." * 100_000 + "b = 1\n", f":5: not a valid TOML file: {TOO_DEEP}"),
    "parts of a table": (GOOD + "[" + "a . 'b'." * 50_000 + "c]\n", f":3: not a valid TOML file: {TOO_DEEP}"),
    "parts in a table": (GOOD + "x = { y = 1, " + "a." * 99_999 + "c = 1}\n", f":3: not a valid TOML file: {TOO_DEEP}"),
    "among brackets": (GOOD + "x = [[]" + ", [[]]" * 20 + ", {a = {" * 20, f":3: not a valid TOML file: {TOO_DEEP}"),
    "open text": (GOOD + "device = 'cpu", ":3: not a valid TOML file: "),
    "table below an unknown one": (GOOD + "[zzz.a]\n", ":3: zzz: unknown key"),
    "misspelt": ('algorithm = "held-carp"\n', "unknown algorithm 'held-carp'; did you mean held-karp?"),
    "other table": (GOOD + "[ant-colony]\nants = 3\n", ":3: ant-colony: this table has no effect"),
    "algorithm's type": ("algorithm = 3\n", ":1: algorithm: expected a text"),
    "instance's type": ("algorithm = 'held-karp'\ninstance = 3\n", ":2: instance: expected text or table, got integer"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_with_its_place(name, tmp_path):
    text, message = MISTAKES[name]
    path = tmp_path / "job.toml"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        load_job(str(path))
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_points_and_brackets_in_texts_and_comments_are_no_nesting(tmp_path):
    dots, brackets = "." * 100, "[{" * 100
    path = tmp_path / "job.toml"
    path.write_text(f"{GOOD}# {dots}{brackets}\noutput = '{dots}{brackets}'\n[held-karp]\n"
                    f"'weights-file' = \"\"\"\n{dots}\\\"{brackets}\"\"\"\n")
    with pytest.raises(InputError, match=r"held-karp\.weights-file: unknown key"):
        load_job(str(path))
    assert too_deep("x = [" + "1.5, " * 100 + "]\n" + "a.b = {c.d = [[2.5, 3.5]]}\n" * 100) is None


@pytest.mark.parametrize("override", ["a." * 50_000 + "b=1", "seed=" + "[" * 100, "seed={" + "a." * 50_000 + "b = 1}"])
def test_set_has_a_limit_of_nesting(override, tmp_path):
    (tmp_path / "job.toml").write_text(GOOD)
    with pytest.raises(InputError, match=r"^--set: (a\.a\..*: a key of 50001 parts|seed: expected integer, got text)"):
        load_job(str(tmp_path / "job.toml"), [override])


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"\x89HDF\r\n\x1a\n", b"a = [" * 5000, b"x" * (2 << 20)])
def test_what_is_no_job_file_is_refused(content, tmp_path):
    path = tmp_path / "job.toml"
    path.write_bytes(content)
    with pytest.raises(Exception) as error:
        load_job(str(path))
    assert error.value.exit_code in (2, 5)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def job(tmp_path, text=GOOD, *overrides, **replaced):
    path = tmp_path / "round.toml"
    path.write_text(text)
    return load_job(str(path), overrides, **replaced)


def test_overrides_have_toml_values_or_words(tmp_path):
    found = job(tmp_path, GOOD, "held-karp.path=open", "held-karp.start=3", "seed = 7", device="cpu")
    assert (found.parameters.path, found.parameters.start) == ("open", 3)
    assert (found.settings.seed, found.settings.device) == (7, "cpu")
    assert job(tmp_path, GOOD, "share-gpu=true").settings.share_gpu is True
    assert parsed_value('"3"') == "3" and parsed_value("1\nx = 2") == "1\nx = 2" and parsed_value("[1, 2]") == [1, 2]
    assert parsed_value("4" * 5000) == "4" * 5000 and parsed_value("[" * 3000) == "[" * 3000


@pytest.mark.parametrize(("override", "message"), [
    ("seed=x", "--set: seed: expected integer, got text"),
    ("held-karp.before=[[3]]", "--set: held-karp.before[0]: expected list of length 2, got 1; meaning: Pairs"),
    ("held-karp", "--set: 'held-karp' is not KEY=VALUE"),
    ("=3", "is not KEY=VALUE"),
    ("held-karp..start=3", "is not KEY=VALUE"),
    ("algorithm.n=3", "algorithm is not a table"),
    ("sed=3", "--set: sed: unknown key; did you mean seed?"),
])
def test_a_wrong_override_is_named(override, message, tmp_path):
    with pytest.raises(InputError) as error:
        job(tmp_path, GOOD, override)
    assert message in str(error.value)


def test_a_key_beside_a_file_that_the_job_names_alone(tmp_path):
    """As for `hpcsolve solve`, and relative to the same folders."""
    found = job(tmp_path, GOOD.replace("held-karp", "shortest-paths") + "[shortest-paths]\nsources = [1]\n",
                "instance.directed=false")
    assert found.settings.instance == {"file": str(tmp_path / "a.tsp"), "directed": False}


def test_paths_and_defaults(tmp_path):
    found = job(tmp_path)
    assert found.settings.instance == str(tmp_path / "a.tsp")
    assert found.settings.output == "results/round.h5"
    assert job(tmp_path, 'algorithm = "held-karp"\ninstance = "-"\n').settings.instance == "-"
    generated = job(tmp_path, 'algorithm = "held-karp"\ninstance = { generate = "uniform-tsp", n = 4 }\n')
    assert generated.settings.instance == {"generate": "uniform-tsp", "n": 4, "seed": 1, "extent": 1000}


def test_the_effective_job_reads_back_as_the_same(tmp_path):
    text = GOOD + 'device = "cuda:1"\nthreads = 3\n[held-karp]\npath = "open"\nstart = -4\n'
    found = job(tmp_path, text)
    again = job(tmp_path, found.text())
    assert again == found
    assert 'layout = "planes"' in found.text() and "seed = 1" in found.text()


def test_the_hash_holds_what_the_answer_depends_on_and_no_more(tmp_path):
    base = job(tmp_path).hash("0")
    elsewhere = ("device=cpu", "threads=3", "output=x.h5", "share-gpu=true", "instance=other-name.tsp")
    assert {job(tmp_path, GOOD, change).hash("0") for change in elsewhere} == {base}
    changed = ("seed=2", "held-karp.path=open", "held-karp.start=2", "held-karp.layout=compact")
    assert len({base, job(tmp_path).hash("1"), *(job(tmp_path, GOOD, change).hash("0") for change in changed)}) == 6


SCALARS = st.text() | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(allow_nan=False)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=9)


@given(st.dictionaries(st.text(), SCALARS | st.lists(VALUES) | st.dictionaries(st.text(), VALUES), max_size=6))
def test_any_table_reads_back(table):
    assert msgspec.toml.decode(toml_text(table)) == table
    assert msgspec.toml.decode(toml_text(table, inline=tuple(table))) == table


def test_a_table_in_python_is_checked_alike():
    with pytest.raises(InputError, match=r"job: held-karp\.pth: unknown key; did you mean path\?"):
        job_from_table({"algorithm": "held-karp", "instance": "x", "output": "y", "held-karp": {"pth": 1}})


@pytest.mark.parametrize("name", sorted(path.stem for path in JOBS.glob("*.toml")))
def test_every_example_is_a_job(name):
    assert load_job(str(JOBS / f"{name}.toml")).settings.output == f"results/{name}.h5"


def test_a_byte_order_mark_is_no_mistake(tmp_path):
    (tmp_path / "job.toml").write_bytes(b'\xef\xbb\xbfalgorithm = "held-karp"\ninstance = "a.tsp"\n')
    assert load_job(str(tmp_path / "job.toml")).settings.instance == str(tmp_path / "a.tsp")


@pytest.mark.parametrize(("override", "key"), [
    ("instance=b.gr", None), ("instance.file=b.gr", "file"), ("instance.coordinates=b.gr", "coordinates"),
    ('instance={ file = "b.gr" }', "file"),
])
def test_files_of_the_command_line_are_relative_to_the_working_directory(override, key, tmp_path, monkeypatch):
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "job.toml").write_text(
        'algorithm = "shortest-paths"\ninstance = { file = "a.gr" }\n[shortest-paths]\nsources = [1]\n'
    )
    monkeypatch.chdir(tmp_path)
    instance = load_job("jobs/job.toml", [override]).settings.instance
    assert (instance if key is None else instance[key]) == str(tmp_path / "b.gr")
    if key == "coordinates":
        assert instance["file"] == str(tmp_path / "jobs" / "a.gr")


def test_a_file_of_queries_is_relative_to_what_names_it(tmp_path, monkeypatch):
    (tmp_path / "jobs").mkdir()
    text = 'algorithm = "shortest-paths"\ninstance = "a.gr"\n[shortest-paths]\nqueries = "pairs.txt"\n'
    (tmp_path / "jobs" / "job.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert load_job("jobs/job.toml").parameters.queries == str(tmp_path / "jobs" / "pairs.txt")
    changed = load_job("jobs/job.toml", ["shortest-paths.queries=pairs.txt"])
    assert changed.parameters.queries == str(tmp_path / "pairs.txt")
    assert load_job("jobs/job.toml", ["shortest-paths.queries=[[1, 2]]"]).parameters.queries == [(1, 2)]
    (tmp_path / "jobs" / "pairs.txt").write_text("1 2\n")
    (tmp_path / "pairs.txt").write_text("# the same\n1 2\n")
    (tmp_path / "jobs" / "a.gr").write_text("p sp 2 1\na 1 2 3\n")
    known, other = (plan_run(job).job for job in (load_job("jobs/job.toml"), changed))
    assert known.hash("x") == other.hash("x") and known.text() != other.text()
    (tmp_path / "pairs.txt").write_text("2 1\n")
    assert known.hash("x") != plan_run(changed).job.hash("x")
