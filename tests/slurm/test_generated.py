"""`hpcsolve slurm` asks for what it should and for nothing else, and all scripts work under a fake srun."""

import os
import re
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcsolve.errors import InputError
from hpcsolve.slurm import job_name_of, parsed_time, script_of, time_text
from tests.frame.source import REPOSITORY
from tests.slurm.scripts import MARK, SCRIPTS, edited

HOSTILE = st.sampled_from([
    "$(touch x)", "`touch x`", "a;touch x", "a\ntouch x", "a' 'b", '"; touch x; "', "../../x", "-rf", "--wrap=x", "a b",
    "", "a\n#SBATCH --wrap=x", "${IFS}", "a&&b", "*", "~", "a\\", "#", "!x", "\x00", "ünïcode", "a\u2028b",
    "\udcff",
])
TEXT = st.one_of(HOSTILE, st.text(max_size=12), st.text("ab$`'\"\\ \n;&|<>(){}*?~#!-=%\t", max_size=12))
NAMES = st.one_of(TEXT, st.from_regex(r"[a-z0-9_.-]{1,8}", fullmatch=True))
FAKES = {"srun": "printf '%s\\0' \"$@\" > srun.got", "scontrol": "echo \"$@\" >&2", "module": ":"}
WORD = re.compile(r"--[a-z-]+=[A-Za-z0-9_.,+@%:-]+|--requeue")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the only programs that a script finds, and a virtual environment with a nasty name."""
    folder = tmp_path_factory.mktemp("fakes")
    for name, text in FAKES.items():
        (folder / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / name).chmod(0o755)
    (folder / "an $(env)'" / "bin").mkdir(parents=True)
    (folder / "an $(env)'" / "bin" / "activate").touch()
    return folder


def in_bash(folder, script, *options):
    return subprocess.run(["/bin/bash", *options, "job.sbatch"], cwd=folder, env={"PATH": str(folder)}, check=False,
                          capture_output=True, text=True, timeout=20)


@settings(max_examples=300)
@given(job=TEXT, override=TEXT, output=TEXT, partition=NAMES, account=NAMES, mpi=NAMES, module=NAMES)
def test_no_value_can_make_a_script_run_anything_else(folder, job, override, output, partition, account, mpi, module):
    command = ["hpcsolve", "run", job, f"--set={override}", f"--output={output}"]
    modules = [module] if module else []
    try:
        script = script_of(2, 4, 8, 4, 1000, 3600, command, job_name_of(job), partition, account, mpi, modules,
                           str(folder / "an $(env)'"))
    except InputError:
        return
    (folder / "job.sbatch").write_text(script, encoding="utf-8")
    before = {*folder.iterdir()} - {folder / "srun.got"}
    checked = in_bash(folder, script, "-n")
    assert (checked.returncode, checked.stderr) == (0, "")
    done = in_bash(folder, script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    got = (folder / "srun.got").read_text(encoding="utf-8").split("\0")[:-1]
    assert got == [*([f"--mpi={mpi}"] if mpi else []), "--cpus-per-task=8", "--kill-on-bad-exit=1", *command]
    assert {*folder.iterdir()} - {folder / "srun.got"} == before
    directives = re.findall(r"^#SBATCH (.*)$", script, re.M)
    assert len(directives) == 3
    assert all(WORD.fullmatch(word) for line in directives for word in line.split(" "))


def test_harmless_values_are_not_refused():
    """Otherwise the test above would test nothing."""
    script = script_of(1, 1, 1, 0, 1, 600, ["hpcsolve", "run", "a b.toml"], "x", "gpu,long", "p_1", "pmix",
                       ["gcc/13.2", "cuda"], "/opt/a b/env")
    assert "--partition=gpu,long --account=p_1" in script and "module load gcc/13.2\n" in script
    assert "source '/opt/a b/env/bin/activate'" in script and "'a b.toml'" in script


def test_the_loop_is_that_of_the_shipped_script():
    def loop(text):
        return text[text.index("run=$!"):].split("\n")

    shipped = (REPOSITORY / "slurm" / "requeue.sbatch").read_text()
    assert loop(script_of(1, 1, 1, 0, 1, 600, ["true"])) == loop(shipped)


@pytest.mark.parametrize(("seconds", "warning"), [(40, 10), (600, 150), (1200, 300), (86400, 300)])
def test_a_signal_comes_five_minutes_before_the_end_or_a_quarter_of_the_time(seconds, warning):
    assert f"--signal=B:USR1@{warning}\n" in script_of(1, 1, 1, 0, 1, seconds, ["true"])


@pytest.mark.parametrize(("text", "seconds"), [
    ("90", 5400), ("90:30", 5430), ("1:30:00", 5400), ("2-03", 183600), ("2-03:30", 185400), ("1-00:00:01", 86401)])
def test_times_as_slurm_reads_them(text, seconds):
    assert parsed_time(text) == seconds
    assert parsed_time(time_text(seconds)) == seconds


@pytest.mark.parametrize("text", ["", "0", "1:2:3:4", "-1", "1.5", "1d", "00:00", "1 ", "\n1", "\u0661"])
def test_other_times_are_refused(text):
    with pytest.raises(ValueError):
        parsed_time(text)


def options_of(script):
    """Return the options of sbatch in a script, by name."""
    words = " ".join(re.findall(r"^#SBATCH (.*)$", script, re.M)).split()
    return {name: value for name, _, value in (word.removeprefix("--").partition("=") for word in words)}


def test_a_script_asks_for_what_the_estimate_says(hpcsolve, repository):
    """28 cities take 298 MiB and more on one rank, and half on each of two, on one node or on two."""
    job = repository / "jobs" / "eu-capitals.toml"
    words = ["slurm", job, "--device", "cpu", "--cpus", "2", "--mpi", "pmi2", "--partition", "long"]
    # Each is a process of its own: the estimate is at least what the process has taken, and the tests' own is large.
    one, two, nodes = (hpcsolve(*words, *more, own_process=True)
                       for more in (["-n1"], ["-n2"], ["-n2", "--ranks-per-node", "1"]))
    assert [done.returncode for done in (one, two, nodes)] == [0, 0, 0], one.stderr + two.stderr + nodes.stderr
    assert "process of rank 0" in one.stderr and "fits" not in one.stderr
    asked = [options_of(done.stdout) for done in (one, two, nodes)]
    assert [found["nodes"] for found in asked] == ["1", "1", "2"]
    assert [found["ntasks-per-node"] for found in asked] == ["1", "2", "1"]
    same = {(found["partition"], found["time"], found["cpus-per-task"]) for found in asked}
    assert same == {("long", "00:10:00", "2")}
    memory = [int(found["mem"].removesuffix("M")) for found in asked]
    assert 1.25 * 298 < memory[2] < memory[0] < memory[1] < 1000
    assert "gpus-per-node" not in asked[0]
    assert "srun --mpi=pmi2 --cpus-per-task=2 --cpu-bind=cores --kill-on-bad-exit=1 \\\n  hpcsolve run " in one.stdout
    assert subprocess.run(["bash", "-n"], input=one.stdout, text=True, check=False).returncode == 0


@pytest.mark.parametrize(("words", "reason"), [
    (["-n", "3", "--ranks-per-node", "2"], "3 ranks do not fill nodes of 2 ranks"),
    (["--account", "a b"], "account 'a b'"),
    (["--mpi", "$(x)"], "MPI plugin '$(x)'"),
    (["--module=-x"], "module '-x'"),
    (["--output", "a\nb"], "no place for line breaks"),
    (["--time", "soon"], "'soon' is not a time"),
])
def test_what_is_refused(hpcsolve, repository, words, reason):
    done = hpcsolve("slurm", repository / "jobs" / "lisbon-to-helsinki.toml", "--device", "cpu", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("mode", ["fast", "kmb"])
def test_no_gpu_is_asked_for_unless_it_is_named_and_a_mode_for_cores_says_so(hpcsolve, tmp_path, mode):
    (tmp_path / "job.toml").write_text(
        'algorithm = "steiner-kmb"\ninstance = { generate = "power-law-steiner", n = 90, edges = 250, terminals = 9 }\n'
        f'[steiner-kmb]\nmode = "{mode}"\n')
    plain, named = (hpcsolve("slurm", "job.toml", *more, cwd=tmp_path) for more in ([], ["--gpus-per-node", "1"]))
    assert "gpus-per-node" not in options_of(plain.stdout) and options_of(named.stdout)["gpus-per-node"] == "1"
    needless = "mode fast computes nearly all on the host's cores: leave out the GPUs"
    assert [needless in done.stderr for done in (plain, named)] == [False, mode == "fast"]


def test_a_job_without_a_foreseeable_end_needs_a_time(hpcsolve, tmp_path):
    (tmp_path / "job.toml").write_text(
        'algorithm = "ant-colony"\ninstance = { generate = "uniform-tsp", n = 20 }\n[stop]\ntarget = 1\n')
    words = ["slurm", "job.toml", "--device", "cpu"]
    refused = hpcsolve(*words, cwd=tmp_path)
    assert refused.returncode == 2 and "give a time limit with --time" in refused.stderr
    done = hpcsolve(*words, "--time", "2-00", "--gpus-per-node", "2", cwd=tmp_path)
    asked = options_of(done.stdout)
    assert (asked["time"], asked["gpus-per-node"], asked["signal"]) == ("2-00:00:00", "2", "B:USR1@300")


by_name = pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
PROGRAM = ["hpcsolve", "run", "a job.toml", "--device", "cpu"]
COMMANDS = {
    "one_node": PROGRAM,
    "multi_node": PROGRAM,
    "cpu_only": [*PROGRAM, "--device", "cpu"],
    "requeue": PROGRAM,
    "array": ["hpcsolve", "sweep", *PROGRAM[2:], "--run", "3"],
}
WHEN_STOPPED = {"requeue": "requeue 7", "array": "requeue 6_3"}


def with_fakes(folder, script, setup, exit_code=0):
    """Run an edited script where srun and scontrol print what they get, and srun returns an exit code."""
    (folder / "srun").write_text(f'#!/bin/sh\nprintf "%s\\n" "$OMP_NUM_THREADS" "$@"\nexit {exit_code}\n')
    (folder / "scontrol").write_text('#!/bin/sh\necho "$@" >&2\n')
    for name in ("srun", "scontrol"):
        (folder / name).chmod(0o755)
    job = folder / "job.sbatch"
    job.write_text(edited(script, 2, "--time=1", setup))
    variables = {"SLURM_CPUS_PER_TASK": "8", "SLURM_JOB_ID": "7", "SLURM_ARRAY_JOB_ID": "6", "SLURM_ARRAY_TASK_ID": "3"}
    return subprocess.run(
        ["bash", str(job), "a job.toml", "--device", "cpu"],
        env={**os.environ, **variables, "PATH": f"{folder}:{os.environ['PATH']}"}, capture_output=True, text=True,
        check=False, timeout=20,
    )


def test_every_script_is_known():
    assert [path.stem for path in SCRIPTS] == sorted(COMMANDS)


@by_name
def test_scripts_are_valid_shell(script):
    done = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@by_name
def test_three_lines_are_to_be_edited(script):
    marked = [line.split(MARK)[1].strip() for line in script.read_text(encoding="utf-8").splitlines() if MARK in line]
    assert [text[:2] for text in marked] == ["1.", "2.", "3."]


@by_name
@pytest.mark.parametrize("mpi", ["pmix", ""])
def test_srun_gets_the_options_that_matter(script, mpi, tmp_path):
    """Every rank dies with the first, and with an empty `MPI` srun takes the site's default."""
    done = with_fakes(tmp_path, script, f"MPI={mpi}")
    assert (done.returncode, done.stderr) == (0, "")
    threads, *options = done.stdout.splitlines()[: -len(COMMANDS[script.stem])]
    bound = ["--cpu-bind=cores"] if script.stem == "cpu_only" else []
    given = [f"--mpi={mpi}"] if mpi else []
    assert (threads, options) == ("8", [*given, "--cpus-per-task=8", *bound, "--kill-on-bad-exit=1"])
    assert done.stdout.splitlines()[-len(COMMANDS[script.stem]):] == COMMANDS[script.stem]


@by_name
@pytest.mark.parametrize("exit_code", [0, 2, 75, 143])
def test_a_stopped_run_is_queued_again_and_no_other(script, exit_code, tmp_path):
    done = with_fakes(tmp_path, script, "MPI=pmi2", exit_code)
    assert done.returncode == exit_code
    assert done.stderr.strip() == (WHEN_STOPPED.get(script.stem, "") if exit_code == 75 else "")


@by_name
def test_a_job_may_be_queued_again_and_keeps_its_log(script):
    options = " ".join(re.findall(r"^#SBATCH (.*?)(?:#.*)?$", script.read_text(), re.M)).split()
    assert {"--requeue", "--open-mode=append"} <= set(options)
    assert ("--signal=B:USR1@300" in options) == (script.stem in WHEN_STOPPED)
