"""The half hour on a GPU, tried on the stub driver: a part from end to end, and what becomes of steps that fail."""

import re
import sys
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from hpcsolve.device.base import DeviceInfo
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.figures import Figure, figures_in, milliseconds
from jobs.benchmarks.gpu import checks, measure, shapes, table
from jobs.benchmarks.gpu.cases import Case, cases, held_karp_floor
from jobs.benchmarks.gpu.launches import KERNELS
from jobs.benchmarks.gpu.measure import chosen
from jobs.benchmarks.gpu.parts import parts
from jobs.benchmarks.gpu.profile import PROFILED
from jobs.benchmarks.gpu.record import before_longest, counts, recording
from jobs.benchmarks.gpu.shapes import SWEEPS, Sweep
from jobs.benchmarks.gpu.steps import Step, recorded, run_part
from tests.markdown import tables
from tests.races.check import exported_kernels

PYTHON = sys.executable


@pytest.mark.timeout(600)  # seconds of a quiet machine, but on a busy one each of its processes waits its turn
def test_the_times_on_the_stub_driver(stub, tmp_path, run_process, repository):
    command = [PYTHON, "-m", "jobs.benchmarks.gpu", "times", "--small", "--output", str(tmp_path)]
    environment = stub.environment(nvcc="single", memory=2**31, OMP_NUM_THREADS=1, HPCSOLVE_DATA="")
    done = run_process(command, timeout=500, env=environment, cwd=repository)
    assert done.returncode == 0, done.stdout + done.stderr
    steps, seconds, figures = tables((tmp_path / "summary.md").read_text())
    assert len(steps) == 16 and {row["outcome"] for row in steps} == {"done"}
    assert [row["part"] for row in seconds] == ["times"]
    assert {f"{name}, kernels" for name in cases(True)} <= {row["figure"] for row in figures}
    assert {f"held-karp-12-u2 on {ranks} ranks, kernels" for ranks in (2, 4)} <= {row["figure"] for row in figures}
    assert all(float(row["ms"]) >= 0 and row["device"] == "Stub GPU 0" for row in figures)
    launches = tables((tmp_path / "times-01-launches.log").read_text())[0]
    assert [row["kernel"] for row in launches] == list(KERNELS)


@pytest.mark.parametrize(("check", "settings", "words"), [
    ("memory", {}, "do not fit on GPU 0"),
    ("fault", {"fail_kernel": 1}, "the last kernel launched was minplus_multiply"),
])
def test_a_check_on_the_stub_driver(check, settings, words, stub, run_process, repository):
    command = [PYTHON, "-m", "jobs.benchmarks.gpu.checks", check]
    done = run_process(command, timeout=60, env=stub.environment(nvcc="single", **settings), cwd=repository)
    assert done.returncode == 0 and words in done.stdout and "as it should be" in done.stdout, done.stdout + done.stderr


def test_what_a_sanitizer_would_watch_runs(stub, run_process, repository):
    command = parts(True)["sanitizer"]()[1].command
    watched = command[command.index(PYTHON) :]
    done = run_process(watched, timeout=120, env=stub.environment(nvcc="single"), cwd=repository)
    assert done.returncode == 0 and command[0] == "compute-sanitizer", done.stdout + done.stderr


def test_the_numbers_of_the_sweeps_reach_the_launches_on_the_stub_driver(stub, run_process, repository):
    command = [PYTHON, "-m", "jobs.benchmarks.gpu.shapes", "--device", "cuda", "--small", "--repeats", "1"]
    done = run_process(command, timeout=120, env=stub.environment(nvcc="single"), cwd=repository)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(figures_in(done.stdout)) == 2 * len(SWEEPS)


def test_the_longest_launch_of_each_kernel_is_profiled(stub, tmp_path, run_process, repository):
    program = tmp_path / "ncu"  # runs what it is given, and says what it would profile
    program.write_text(f"""#!{PYTHON}
import subprocess, sys
begin = sys.argv.index({PYTHON!r})
print("ncu:", *sys.argv[1:begin], flush=True)
sys.exit(subprocess.run(sys.argv[begin:]).returncode)
""")
    program.chmod(0o755)
    environment = stub.environment(nvcc="single", HPCSOLVE_DATA="")
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    done = run_process([PYTHON, "-m", "jobs.benchmarks.gpu.profile", "--small"], timeout=180, env=environment,
                       cwd=repository)
    assert done.returncode == 0, done.stdout + done.stderr
    profiled = [line.split() for line in done.stdout.splitlines() if line.startswith("ncu:")]
    assert [words[words.index("--kernel-name") + 1] for words in profiled] == list(PROFILED)
    runs = [line for line in done.stdout.splitlines() if "0 runs, each with" in line]
    for (kernel, (_, case)), words, run in zip(PROFILED.items(), profiled, runs, strict=True):
        launches = int(re.search(rf"{kernel} (\d+)", run)[1])
        assert run.startswith(f"{case}: ") and 0 <= int(words[words.index("--launch-skip") + 1]) < launches


class OneKernel:
    """A device on which a run launches the kernel `step` thrice, the second time for longest."""

    info = DeviceInfo("cuda", "", "", "", units=4)

    def __init__(self):
        self.seconds = 0.0

    def kernel(self, file, name):
        def launch(grid, block, **arguments):
            self.seconds += {1: 0.1, 2: 0.5, 3: 0.2}[arguments["number"]]

        return launch

    def timer(self):
        return Watch(self)


class Watch:
    """A stopwatch of such a device."""

    def __init__(self, device):
        self.device, self.seconds = device, 0.0

    def start(self):
        self.began = self.device.seconds

    def stop(self):
        self.seconds += self.device.seconds - self.began


def run_thrice(case, problem, device, comm):
    kernel = device.kernel("file", "step")
    for number in (1, 2, 3):
        kernel(8, 32, number=number)
    return {"kernels": 0.8}


def test_a_case_that_launches_other_kernels_is_refused(monkeypatch):
    monkeypatch.setattr(measure, "timed", run_thrice)
    case = Case("held-karp", lambda: None, ("step",))
    launches = measure.counted_launches("it", case, None, OneKernel(), SerialComm())
    assert [(launch.kernel, launch.blocks, launch.threads) for launch in launches] == [("step", 8, 32)] * 3
    other = replace(case, kernels=("step", "step_u2"))
    with pytest.raises(InputError, match="the case it did not launch step_u2"):
        measure.counted_launches("it", other, None, OneKernel(), SerialComm())


def test_a_sweep_whose_number_does_not_reach_a_launch_is_refused(monkeypatch):
    monkeypatch.setattr(shapes, "timed", run_thrice)
    case = Case("held-karp", lambda: None, ("step",))
    threads = SWEEPS["tile"].reached
    sweep = Sweep("it", "it", "step", "threads a block", (32, 64), lambda value: nullcontext(), threads)
    found = shapes.swept(sweep, case, OneKernel(), 1)
    assert next(found)[0] == 32
    with pytest.raises(InputError, match="64 threads a block do not reach step, whose launches have 32"):
        next(found)


def test_the_longest_launch_is_found():
    device = OneKernel()
    with recording(device, timed=True) as launches:
        run_thrice(None, None, device, None)
    assert before_longest(launches, "step") == 1 and counts(launches) == {"step": 3}


def test_other_bytes_are_found(monkeypatch, capsys):
    def answer(job, _, device, *__):
        if job.stem == "streets" and device == "cuda":
            return "exit code 4: no"
        values = np.array([1, 2 + (job.stem == "places" and device == "cuda")])
        return {"cost": ("int64", (), b"5"), "tour": (str(values.dtype), values.shape, values.tobytes())}

    monkeypatch.setattr(checks, "solution", answer)
    monkeypatch.setattr(sys, "argv", ["checks", "compare", "--small"])
    assert checks.main() == 1
    lines = capsys.readouterr().out.splitlines()
    assert "places.toml: other bytes in tour" in lines and "streets.toml: on the GPU, exit code 4: no" in lines
    assert "eu-capitals.toml: 2 datasets, 17 bytes" in lines and "as it should be" not in lines


def test_every_job_that_is_no_sweep_is_compared(repository):
    every = {path.stem for path in (repository / "jobs").glob("*.toml")}
    assert every - {path.stem for path in checks.single_jobs(False)} == {"city-sizes"}
    assert {path.stem for path in checks.single_jobs(True)} == set(checks.SMALL)


def test_steps_that_fail_do_not_stop_the_next(tmp_path, monkeypatch):
    sleeps = (PYTHON, "-c", "import time; print('begun', flush=True); time.sleep(60)")
    steps = [
        Step("fails", (PYTHON, "-c", "raise SystemExit(3)"), 20), Step("sleeps", sleeps, 6),
        Step("is absent", ("no-such-program", "-q"), 20), Step("refuses", (PYTHON, "-c", "exit(3)"), 20, expected=3),
        Step("works", (PYTHON, "-c", f"print({Figure('it', 'GPU', 2e-3, 1e-3).line!r})"), 20),
    ]
    done = run_part("truth", steps, tmp_path, {"PATH": "/usr/bin:/bin"})
    outcomes = ["failed: exit code 3", "timed out after 6 s", "left out: no no-such-program", "done", "done"]
    assert [each.outcome for each in done] == outcomes and recorded(tmp_path) == done
    assert [each.failed for each in done] == [True, True, False, False, False]
    assert (tmp_path / "truth-02-sleeps.log").read_text() == "begun\n"
    lines = table.summary(tmp_path)
    assert "- **truth: sleeps: timed out after 6 s** (truth-02-sleeps.log)" in lines
    monkeypatch.setattr("jobs.benchmarks.gpu.steps.PART_SECONDS", 4.0)
    assert run_part("late", steps[:1], tmp_path, {})[0].outcome == "left out: no time"


def test_the_table_goes_between_the_marks(tmp_path):
    run_part("times", [Step("one", ("echo", Figure("a search", "H200", 0.02, 0.01).line), 20)], tmp_path,
             {"PATH": "/usr/bin:/bin"})
    document = tmp_path / "gpu.md"
    document.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nbehind\n")
    for _ in range(2):
        table.write(document, table.figure_table(tmp_path))
    text = document.read_text()
    (row,) = tables(text)[0]
    assert (row["ms"], row["floor"], row["ratio"], row["device"]) == ("20.0", "10.0", "2.00", "H200")
    assert text.startswith(f"before\n{table.BEGIN}\n") and text.endswith(f"{table.END}\nbehind\n") and "old" not in text
    document.write_text("no marks")
    with pytest.raises(InputError, match="there must be one line"):
        table.write(document, [])
    with pytest.raises(InputError, match="has no figures"):
        table.figure_table(tmp_path / "nothing")


def test_the_marks_are_in_the_document():
    text = table.DOCUMENT.read_text()
    assert text.index(table.BEGIN) < text.index(table.END)


def test_what_the_steps_name_exists():
    large, small = cases(False), cases(True)
    named = {kernel for case in large.values() for kernel in case.kernels} | set(PROFILED)
    named |= {f"{sweep.kernel}_32" if name == "phast-sources" else sweep.kernel for name, sweep in SWEEPS.items()}
    assert named <= exported_kernels()
    for kernel, (case, _) in PROFILED.items():
        assert kernel in large[case].kernels
    for sweep in SWEEPS.values():
        assert any(kernel.startswith(sweep.kernel) for kernel in large[sweep.case].kernels)
    assert {sweep.small for sweep in SWEEPS.values()} | {case for _, case in PROFILED.values()} <= set(small)
    for which, known in ((False, large), (True, small)):
        words = [word for step in parts(which)["times"]() for word in step.command]
        patterns = [word for word in words if word.endswith(("*", "-u2", "-u4"))]
        assert sorted(chosen(patterns, known)) == sorted(known)
    with pytest.raises(InputError, match=r"there is no case new-jersey-"):
        chosen(["new-jersey-*"], small)


@pytest.mark.parametrize(("n", "width", "milliseconds_"), [(30, 2, 3.7), (32, 2, 16.8), (32, 4, 33.7)])
def test_the_floor_is_that_of_the_document(n, width, milliseconds_):
    assert 1e3 * held_karp_floor(n, width) == pytest.approx(milliseconds_, rel=0.01)


def test_figures_are_read_as_they_were_printed():
    figures = [Figure("a, b", "GPU 0", 1.5e-3, None), Figure("c", "GPU 0", 2.0, 1.0)]
    assert figures_in("\n".join(["text", *(figure.line for figure in figures), "figures: no"])) == figures
    assert [milliseconds(each) for each in (None, 0.12345, 1.2e-5, 12.3456)] == ["-", "123", "0.0120", "1.23e+04"]
