"""A sweep file stands for every combination of its values, in a fixed order, each with a name of its own."""

import itertools
import os
import re
import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcsolve.errors import InputError
from hpcsolve.job import load_job
from hpcsolve.output.toml import toml_text
from hpcsolve.sweep import axes_of, expand

ISSUE = """
algorithm = "held-karp"
instance.generate = "random-matrix"
instance.n = [20, 22, 24]
seed = "1..20"
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return `write(text)`, which writes a sweep file in a folder `jobs` of the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()

    def written(text):
        (tmp_path / "jobs" / "many.toml").write_text(text)
        return "jobs/many.toml"

    return written


def values_of(path, *overrides):
    return expand(path, overrides).axes


def test_lists_and_ranges_are_values(write):
    sweep = expand(write(ISSUE))
    assert sweep.axes == {"instance.n": [20, 22, 24], "seed": list(range(1, 21))}
    pairs = [(run.job.settings.instance["n"], run.job.settings.seed) for run in sweep.runs]
    assert pairs == list(itertools.product([20, 22, 24], range(1, 21)))
    assert [run.index for run in sweep.runs] == list(range(60))
    assert sweep.runs[22].name == "instance.n=22,seed=3"
    assert sweep.runs[22].job.settings.output == "results/many/instance.n=22,seed=3.h5"


GRAPH = 'algorithm = "shortest-paths"\ninstance = { file = "a.gr" }\nseed = [1, 2]\n'


@pytest.mark.parametrize("text, key, values", [
    ("sources = [1, 5]", "sources", None),
    ("sources = [[1, 5], [2]]", "sources", [[1, 5], [2]]),
    ('sources = ["terminals", [2]]', "sources", ["terminals", [2]]),
    ('sources = "terminals"', "sources", None),
    ("sources = { random = [10, 20] }", "sources.random", [10, 20]),
    ("sources = [1]\ntargets = [[1], [2, 3]]", "targets", [[1], [2, 3]]),
    ("queries = [[1, 5], [2, 7]]", "queries", None),
    ("queries = [[[1, 5]], [[2, 7]]]", "queries", [[[1, 5]], [[2, 7]]]),
    ("sources = [1]\ncutoff = [1, 2.5]", "cutoff", [1, 2.5]),
    ("sources = [1]\ncutoff = [\"1..3\", 10]", "cutoff", [1, 2, 3, 10]),
    ('sources = [1]\nengine = ["dijkstra", "k-pull"]', "engine", ["dijkstra", "k-pull"]),
    ("sources = [1]\nvoronoi = [true, false]", "voronoi", [True, False]),
])
def test_a_list_that_a_job_takes_is_one_value(write, text, key, values):
    axes = values_of(write(f"{GRAPH}[shortest-paths]\n{text}\n"))
    expected = {"seed": [1, 2]} | ({} if values is None else {f"shortest-paths.{key}": values})
    assert axes == expected


def test_terminals_are_a_list_of_vertices_or_a_number_to_generate(write):
    file = 'algorithm = "steiner-kmb"\ninstance = { file = "a.gr", terminals = %s }\nseed = [1]\n'
    assert "instance.terminals" not in values_of(write(file % "[17, 4]"))
    assert "instance.terminals" not in values_of(write(file % '"1..5"'))  # the name of a file
    assert values_of(write(file % "[[17, 4], [3]]"))["instance.terminals"] == [[17, 4], [3]]
    made = 'algorithm = "steiner-kmb"\ninstance = { generate = "road-steiner", n = 99, terminals = %s }\n'
    assert values_of(write(made % "[4, 8]")) == {"instance.terminals": [4, 8]}
    assert values_of(write(made % '"4..6"')) == {"instance.terminals": [4, 5, 6]}


def test_instances_may_be_files_and_tables(write, tmp_path):
    text = 'algorithm = "held-karp"\ninstance = ["a.tsp", "../b.tsp", { generate = "uniform-tsp", n = 5 }]\n'
    runs = expand(write(text)).runs
    assert runs[0].job.settings.instance == str(tmp_path / "jobs" / "a.tsp")
    assert runs[1].job.settings.instance == str(tmp_path / "b.tsp")
    assert runs[2].job.settings.instance["generate"] == "uniform-tsp"
    assert runs[0].name == "instance=a.tsp" and runs[1].name.startswith("instance=b.tsp-")
    here = expand("jobs/many.toml", ['instance=["a.tsp", "jobs/a.tsp"]']).runs  # relative to the working directory
    assert [run.job.settings.instance for run in here] == [str(tmp_path / "a.tsp"), str(tmp_path / "jobs" / "a.tsp")]


def test_an_absolute_path_is_named_by_its_last_part(write, tmp_path):
    """Files of sweeps that were begun before, with the whole path in their names, are still found."""
    path = write('algorithm = "held-karp"\ninstance = ["/data/of/a.tsp", "/data/of/b.tsp"]\noutput = "out"\n')
    short = [run.name for run in expand(path).runs]
    assert all(re.fullmatch(r"instance=[ab]\.tsp-[0-9a-f]{10}", name) for name in short)
    former = short[1].replace("=b", "=data-of-b")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / f"{former}.h5").touch()
    assert [run.name for run in expand(path).runs] == [short[0], former]


def test_set_replaces_values_and_keeps_names(write):
    path = write(ISSUE)
    names = {run.name for run in expand(path).runs}
    one = expand(path, ["seed=7", "instance.n=[20, 24]"])
    assert one.axes == {"instance.n": [20, 24], "seed": [7]}
    assert {run.name for run in one.runs} <= names
    more = expand(path, ["seed=19..21", 'held-karp.layout=["planes", "compact"]'])
    assert list(more.axes) == ["instance.n", "seed", "held-karp.layout"] and len(more.runs) == 18


def test_the_folder(write):
    path = write(ISSUE + 'output = "elsewhere"\n')
    assert expand(path).folder == "elsewhere" and expand(path, output="here").folder == "here"
    assert expand(path, ["output=there"]).runs[0].job.settings.output == "there/instance.n=20,seed=1.h5"


@pytest.mark.parametrize("text, error", [
    ("seed = []", "jobs/many.toml:2: seed: the list has no values"),
    ('seed = "5..1"', 'jobs/many.toml:2: seed: the range "5..1" is empty; write "1..5"'),
    ('seed = "1..1000000"', "jobs/many.toml:2: seed: the range \"1..1000000\" has 1000000 values; at most 100000"),
    ("seed = [1, -4]", "jobs/many.toml:2: seed: "),
    ('seed = ["a"]\nthreads = [1]', "jobs/many.toml:2: seed: expected integer"),
    ("seed = [1, 2, 1]", "jobs/many.toml:2: seed: the value 1 is there twice"),
    ("seeds = [1, 2]\nseed = [1, 2]", "jobs/many.toml:2: seeds: unknown key; did you mean seed?"),
    ('seed = "1..400"\nthreads = "1..400"', "400 values of seed x 400 values of threads make 160000 runs"),
    ("seed = 3", "no key has several values, so it is one job: solve it with `hpcsolve run`"),
    ('output = ["a", "b"]\nseed = [1]', "jobs/many.toml:2: output: "),
    ('output = "a.h5"\nseed = [1]', "jobs/many.toml:2: output: 'a.h5' is not the name of a folder"),
])
def test_mistakes_are_named(write, text, error):
    path = write(f'algorithm = "held-karp"\n{text}\ninstance = "a.tsp"\n')
    with pytest.raises(InputError) as found:
        expand(path)
    assert error in str(found.value)


@pytest.mark.parametrize("text, key", [("seed = [1, 2]", "seed"), ("instance.n = [8, 9]", "instance.n")])
def test_run_names_the_command_for_several_values(write, hpcsolve, text, key):
    path = write(f'algorithm = "held-karp"\ninstance.generate = "random-matrix"\n{text}\n')
    done = hpcsolve("run", path)
    assert done.returncode == 2 and not Path("results").exists()
    what = f"{path}:3: {key}: there are several values; `hpcsolve sweep` runs every combination"
    assert done.stderr == f"hpcsolve: error: {what}\n"


def test_standard_input_is_refused(write):
    with pytest.raises(InputError, match="standard input"):
        expand(write('algorithm = "held-karp"\ninstance = "-"\nseed = [1]\n'))


TEXTS = st.text(min_size=1, max_size=90).filter(lambda text: "\0" not in text and text not in ("-", "(in memory)"))
NUMBERS = st.lists(st.integers(1, 2**63 - 1), min_size=1, max_size=4, unique=True)


BETAS = st.lists(st.integers(0, 64), min_size=1, max_size=3, unique=True)


@settings(max_examples=30)  # each has up to 36 runs
@given(st.lists(TEXTS, min_size=1, max_size=3, unique=True), NUMBERS, BETAS)
def test_every_combination_has_one_run_with_a_name_of_its_own(tmp_path_factory, files, seeds, betas):
    """The job of a run is what its command reads, and no two runs share a file, whatever the values are."""
    folder = tmp_path_factory.mktemp("sweep")
    table = {"algorithm": "ant-colony", "instance": files, "seed": seeds, "ant-colony": {"beta": betas}}
    (folder / "s.toml").write_text(toml_text(table), encoding="utf-8")
    sweep = expand(str(folder / "s.toml"), output="out")
    jobs = [run.job for run in sweep.runs]
    found = [(job.settings.instance, job.settings.seed, job.parameters.beta) for job in jobs]
    assert found == [(os.path.abspath(folder / a), b, c) for a, b, c in itertools.product(files, seeds, betas)]
    outputs = [job.settings.output for job in jobs]
    assert len(set(outputs)) == len(outputs)
    assert all(Path(output).parent == Path("out") and len(os.fsencode(Path(output).name)) < 230 for output in outputs)
    assert expand(str(folder / "s.toml"), output="out") == sweep
    words = shlex.split(sweep.runs[-1].command)
    sets = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
    assert words[:3] == ["hpcsolve", "run", str(folder / "s.toml")]
    assert load_job(words[2], sets, output=words[-1]) == sweep.runs[-1].job


@given(st.dictionaries(st.sampled_from(["ants", "colonies", "candidates", "tiled"]), st.integers(1, 9), min_size=1))
def test_a_plain_job_has_no_axes(parameters):
    class Text:
        def error(self, key, message):
            raise AssertionError(message)

    table = {"algorithm": "ant-colony", "instance": "1..3", "ant-colony": parameters, "stop": {"seconds": 1.0}}
    assert axes_of(table, Text()) == {}
