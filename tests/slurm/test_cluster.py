"""Real Slurm on two emulated hosts: the shipped scripts, signals, requeues, arrays, faults, a host that is cut off.

However a job is interrupted, the hash of `/solution` at the end is that of one process that was left alone.
"""

import re
import sys
import time

import pytest

from tests.cli.seen import solution_hash
from tests.frame.source import REPOSITORY
from tests.slurm import cluster as hosts
from tests.slurm.conftest import PLUGINS, tool
from tests.slurm.scripts import ANTS, CITIES

SECONDS_UNDER_WAY = 1.5
"""Time from the last line before a run solves to the event of a test."""


@pytest.fixture(scope="session")
def expected(tmp_path_factory, hpcsolve):
    """The hash of `/solution` of one process without Slurm."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "ants.toml").write_text(ANTS)
    done = hpcsolve("run", "ants.toml", "--output", "alone.h5", cwd=folder, timeout=200)
    assert done.returncode == 0, done.stderr
    return solution_hash(folder / "alone.h5")


@pytest.fixture
def ants(cluster):
    (cluster.folder / "ants.toml").write_text(ANTS)
    return cluster


def wait_until_under_way(cluster, job):
    cluster.wait_for_log(job, "memory: ")
    time.sleep(SECONDS_UNDER_WAY)


def result_of(cluster, name="result.h5"):
    found = solution_hash(cluster.folder / name)
    cluster.saw(found[:16])
    return found


@pytest.mark.parametrize(("script", "ranks"), [("one_node", 2), ("multi_node", 1), ("cpu_only", 3)])
def test_a_script_gives_the_answer_of_one_process(ants, expected, script, ranks):
    """The finished job, queued again, has nothing to do."""
    job = ants.submit(ants.script(script, ranks), "ants.toml", "--output", "result.h5")
    assert ants.end_of(job)["JobState"] == "COMPLETED", ants.log(job)
    written = (ants.folder / "result.h5").stat().st_mtime_ns
    ants.run("scontrol", "requeue", job)
    ants.wait_for_log(job, "PASS", times=2)
    assert ants.end_of(job)["JobState"] == "COMPLETED"
    assert (ants.folder / "result.h5").stat().st_mtime_ns == written
    assert result_of(ants) == expected


@pytest.mark.parametrize("mpi", ["as set", "empty"])
def test_a_signal_queues_the_job_again(ants, expected, mpi):
    """With `MPI=` empty, srun takes the site's default, which the environment names here."""
    script = ants.script("requeue", 1)
    if mpi == "empty":
        name = ants.plugin
        script.write_text(script.read_text().replace(f"MPI={name}", f"MPI=; export SLURM_MPI_TYPE={name}"))
    job = ants.submit(script, "ants.toml", "--output", "result.h5")
    wait_until_under_way(ants, job)
    ants.run("scancel", "--signal=USR1", "--batch", job)
    facts = ants.end_of(job)
    assert (facts["JobState"], facts["Restarts"]) == ("COMPLETED", "1"), ants.log(job)
    assert "hpcsolve: error" not in ants.log(job)
    assert result_of(ants) == expected


def test_a_generated_script_does_the_same(ants, expected):
    words = ["slurm", "ants.toml", "--ranks=2", "--ranks-per-node=1", f"--mpi={ants.plugin}", "--output=result.h5"]
    script = ants.run(sys.executable, "-m", "hpcsolve", *words).stdout
    (ants.folder / "generated.sbatch").write_text(script)
    job = ants.submit("generated.sbatch")
    wait_until_under_way(ants, job)
    ants.run("scancel", "--signal=USR1", "--batch", job)
    facts = ants.end_of(job)
    assert (facts["JobState"], facts["Restarts"]) == ("COMPLETED", "1"), ants.log(job)
    assert result_of(ants) == expected


@pytest.mark.parametrize("fewer", [(1, 4, 3), (4, 1, 2)], ids=str)
def test_resumed_on_other_ranks(ants, expected, mpi, fewer):
    """Ranks of each of both nodes. The job is cancelled twice by USR1, and submitted again with others."""
    for ranks in fewer[:-1]:
        job = ants.submit("--no-requeue", ants.script("requeue", ranks, mpi=mpi), "ants.toml", "--output", "result.h5")
        wait_until_under_way(ants, job)
        ants.run("scancel", "--signal=USR1", "--batch", job)
        assert ants.end_of(job)["ExitCode"] == "75:0", ants.log(job)
        assert not (ants.folder / "result.h5").exists() or ants.log(job).count("stopped") == 1
    job = ants.submit(ants.script("multi_node", fewer[-1]), "ants.toml", "--output", "result.h5")
    assert ants.end_of(job)["JobState"] == "COMPLETED", ants.log(job)
    assert "resume:" in ants.log(job)
    assert result_of(ants) == expected


def test_a_cancelled_job_is_not_queued_again(ants):
    job = ants.submit(ants.script("requeue", 1), "ants.toml", "--output", "result.h5")
    wait_until_under_way(ants, job)
    ants.run("scancel", job)
    assert ants.end_of(job)["JobState"] == "CANCELLED"
    time.sleep(8)  # longer than a requeued job waits
    assert ants.facts(job)["JobState"] == "CANCELLED"


def test_an_array_solves_what_a_sweep_lacks(cluster, hpcsolve):
    """One run is there already."""
    (cluster.folder / "cities.toml").write_text(CITIES)
    program = [sys.executable, "-m", "hpcsolve"]
    cluster.run(*program, "sweep", "cities.toml", "--run", "1", "--quiet")
    missing = cluster.run(*program, "sweep", "cities.toml", "--missing").stdout.strip()
    assert missing == "0,2-3"
    job = cluster.submit(f"--array={missing}%2", cluster.script("array", 2), "cities.toml", "--quiet")
    for element in (0, 2, 3):
        assert cluster.end_of(f"{job}_{element}")["JobState"] == "COMPLETED", cluster.log(f"{job}_{element}")
    assert cluster.run(*program, "sweep", "cities.toml", "--missing").stdout.strip() == ""
    table = cluster.submit(f"--dependency=afterany:{job}", "--output=table.log", "--wrap",
                           f"{sys.executable} -m hpcsolve collect results/cities -o cities.csv")
    assert cluster.end_of(table)["JobState"] == "COMPLETED"
    assert len((cluster.folder / "cities.csv").read_text().splitlines()) == 5
    hpcsolve("sweep", "cities.toml", "--output", "alone", cwd=cluster.folder)
    for alone in sorted((cluster.folder / "alone").glob("*.h5")):
        assert result_of(cluster, f"results/cities/{alone.name}") == solution_hash(alone)


def test_a_signalled_element_is_queued_again_alone(ants, expected):
    (ants.folder / "ants.toml").write_text(ANTS.replace("seed = 7", "seed = [6, 7]"))
    job = ants.submit("--array=0-1", ants.script("array", 1), "ants.toml")
    wait_until_under_way(ants, f"{job}_1")
    ants.run("scancel", "--signal=USR1", "--batch", f"{job}_1")
    ends = [ants.end_of(f"{job}_{element}") for element in (0, 1)]
    assert [(facts["JobState"], facts["Restarts"]) for facts in ends] == [("COMPLETED", "0"), ("COMPLETED", "1")]
    assert result_of(ants, "results/ants/instance.seed=7.h5") == expected


@pytest.mark.parametrize("host", hosts.NODES)
def test_a_host_is_cut_off(ants, expected, host):
    """Slurm notices it, and starts the job again when the host is back. rh1 has rank 0 and the batch script."""
    job = ants.submit(ants.script("multi_node", 1), "ants.toml", "--output", "result.h5")
    wait_until_under_way(ants, job)
    hosts.cut(host, ants.state)
    try:
        hosts.wait_until(lambda: hosts.states(ants.state)[host].startswith("down"), f"{host} is not down", 120)
    finally:
        hosts.join(host, ants.state)
    facts = ants.end_of(job)
    assert (facts["JobState"], facts["Restarts"]) == ("COMPLETED", "1"), ants.log(job)
    assert result_of(ants) == expected
    hosts.wait_until(lambda: set(hosts.states(ants.state).values()) == {"idle"}, "a node does not come back")


def test_a_launcher_of_another_mpi_is_refused_once(ants):
    done = ants.run("srun", "--nodes=2", "--ntasks=3", "--mpi=none", "--kill-on-bad-exit=1", sys.executable, "-m",
                    "hpcsolve", "run", "ants.toml", "--output", "result.h5", check=False)
    assert done.returncode == 4
    assert done.stderr.count("hpcsolve: error: srun started 3 processes (SLURM_STEP_NUM_TASKS=3)") == 1
    assert not (ants.folder / "result.h5").exists()


def test_an_error_of_the_user_keeps_its_exit_code(cluster):
    """The first rank that exits makes srun send SIGTERM to the others, which are about to exit too."""
    srun = ["srun", "--nodes=2", "--ntasks=4", f"--mpi={cluster.plugin}", "--kill-on-bad-exit=1"]
    run = [sys.executable, "-m", "hpcsolve", "run", "missing.toml"]
    codes = [cluster.run(*srun, *run, check=False).returncode for _ in range(4)]
    assert codes == [2, 2, 2, 2]


def test_every_rank_sees_the_gpus_of_its_node(cluster):
    script = cluster.script("multi_node", 2, gpus=2)
    before, program, after = script.read_text().rpartition('hpcsolve run "$@"')
    assert program
    script.write_text(f"{before}bash -c 'echo gpus=$CUDA_VISIBLE_DEVICES.'{after}")
    job = cluster.submit(script, "unused")
    assert cluster.end_of(job)["JobState"] == "COMPLETED", cluster.log(job)
    assert cluster.log(job).count("gpus=0,1.") == 4


COUNTING = """#!/bin/sh
case " $* " in *" -shared "*) echo "$*" >>"{log}";; esac
exec g++ "$@"
"""


def test_eight_cold_ranks_compile_each_kernel_once(ants, expected):
    """On two hosts that share the cache."""
    log, compiler = ants.folder / "compiled", ants.folder / "counting-g++"
    compiler.write_text(COUNTING.format(log=log))
    compiler.chmod(0o755)
    script = ants.script("multi_node", 4)
    cold = f'export HPCSOLVE_CACHE="{ants.folder}/cache" HPCSOLVE_CXX="{compiler}"\nexport OMP_NUM_THREADS'
    script.write_text(script.read_text().replace("export OMP_NUM_THREADS", cold))
    job = ants.submit(script, "ants.toml", "--output", "result.h5")
    assert ants.end_of(job)["JobState"] == "COMPLETED", ants.log(job)
    files = [word for line in log.read_text().splitlines() for word in line.split() if word.endswith(".cu")]
    assert len(files) == len(set(files)) > 1
    ants.saw(f"{len(files)} kernel files, each compiled once")
    assert result_of(ants) == expected


@pytest.mark.timeout(900)
def test_reframe_runs_its_checks_through_slurm(cluster, mpi):
    """With the site of slurm/README.md, but for what differs here: Slurm keeps no accounts."""
    program = tool("reframe", "reframe-hpc")
    found = re.search(r"^site_configuration = .*?^}", (REPOSITORY / "slurm" / "README.md").read_text(), re.M | re.S)[0]
    programs = re.search('PATH="(.*?):', cluster.setup(mpi))[1]
    for ours, here in {"pmi2": PLUGINS[mpi.name], "/opt/hpcsolve/bin": programs, '"slurm"': '"squeue"'}.items():
        assert found.count(ours) == 1
        found = found.replace(ours, here)
    (cluster.folder / "site.py").write_text(found)
    command = [program, "-C", "site.py", "-c", REPOSITORY / "slurm" / "reframe_checks.py", "-r", "--nocolor",
               "--prefix=made", "--skip-performance-check"]
    said = cluster.run(*command, check=False, timeout=800).stdout
    assert "Ran 5/5 test case(s) from 5 check(s) (0 failure(s)" in said, said
    check, = (cluster.folder / "made").rglob("EveryAlgorithm/*.out")
    assert check.read_text().count("answers are as recorded") == 1  # on srun's two ranks
    cluster.saw("5 checks")
