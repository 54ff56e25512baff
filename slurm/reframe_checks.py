"""ReFrame checks of an installation, whose `hpcsolve` and `python3` are on the PATH.

    reframe -c slurm/reframe_checks.py -r

They lie in a checkout, since the last one takes the straightforward program from jobs/benchmarks. On a partition whose
launcher is `srun`, ranks start as in job scripts; ReFrame's own launcher `local` starts one process, and `hpcsolve
check` then starts two ranks by itself.
"""

from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import parameter, performance_function, run_after, sanity_function

JOBS = Path(__file__).resolve().parent.parent / "jobs"


class Check(rfm.RunOnlyRegressionTest):
    """What all checks have in common."""

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "hpcsolve"
    time_limit = "10m"


@rfm.simple_test
class EveryAlgorithm(Check):
    """Small instances for every algorithm, whose answers are recorded."""

    num_tasks = 2
    executable_opts = ["check", "--device", "cpu"]

    @sanity_function
    def answers_are_as_recorded(self):
        """All answers, on each number of ranks that was tried."""
        lines = sn.findall(r"^check:  (?P<right>\d+) of (?P<all>\d+) answers are as recorded", self.stdout)
        return sn.and_(lines, sn.all(sn.map(lambda line: line["right"] == line["all"], lines)))


@rfm.simple_test
class VerifiedAnswer(Check):
    """An example on two ranks, whose result file is verified by numpy and scipy alone."""

    example = parameter(["eu-capitals", "district-heating", "river-town"])
    num_tasks = 2

    @run_after("init")
    def set_commands(self):
        """Name the example in the commands."""
        self.prerun_cmds = [f"hpcsolve new {self.example} ."]
        self.executable_opts = ["run", f"{self.example}.toml", "--device", "cpu", "--output", "result.h5"]
        self.postrun_cmds = ["hpcsolve verify result.h5 --json >verified.json"]

    @sanity_function
    def answer_is_verified(self):
        """The only result file, by `hpcsolve verify`."""
        return sn.assert_eq(sn.extractall('"passed": (.*),', "verified.json", 1), ["true"])


@rfm.simple_test
class HeldKarpKernels(Check):
    """Held-Karp's kernels on one core, beside a straightforward program that g++ compiles with the same options."""

    executable = "python3"
    executable_opts = ["-m", "jobs.benchmarks.held_karp.versions", "--sizes", "22", "--repeats", "5", "--textbook"]
    prerun_cmds = [f"ln -s {JOBS} jobs"]
    # About 60 with AVX2. Kernels that are compiled for any x86-64 CPU reach 20 to 25.
    reference = {"*": {"ratio": (30, 0, None, "x")}}
    line = r"times as fast: (\d+\.\d)\."

    @sanity_function
    def has_a_ratio(self):
        """The benchmark ends with this line, or before it with an error."""
        return sn.assert_found(self.line, self.stdout)

    @performance_function("x")
    def ratio(self):
        """CPU seconds of the straightforward program in those of the kernels."""
        return sn.extractsingle(self.line, self.stdout, 1, float)
