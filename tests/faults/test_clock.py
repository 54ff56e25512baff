"""A wall clock that steps: time limits and intervals are measured with the monotonic clock."""

import ast

from hpcsolve.output.reader import read_result
from tests.faults.preload import preloading
from tests.frame.source import package_files, parsed

JOB = """algorithm = "ant-colony"
instance = { generate = "uniform-tsp", n = 50, seed = 1 }
[stop]
seconds = 1.0
"""
WALL_CLOCKS = {"time.time": "hpcsolve/runner/run.py", "datetime.datetime.now": "hpcsolve/runner/conclude.py"}
"""The only places that look at the wall clock: the end of the Slurm job, and when a result was made."""


def test_a_run_while_the_clock_steps_by_days(tmp_path, hpcsolve):
    (tmp_path / "job.toml").write_text(JOB)
    environment = preloading("stepping_clock", tmp_path)
    done = hpcsolve("run", "job.toml", "--device", "cpu", "--output", "out.h5", "--checkpoint-interval", "0.2",
                    "--deadline", "100", "--hang-timeout", "60", cwd=tmp_path, env=environment)
    assert done.returncode == 0 and "stopped: 1 s reached after " in done.stdout, done.stdout + done.stderr
    result = read_result(tmp_path / "out.h5")
    seconds = {name: column for name, column in result.groups["ranks"].items() if name.startswith("seconds_")}
    assert len(seconds) > 4
    for name, column in seconds.items():
        assert 0 <= column.values[0] < 60, name


def test_nothing_else_looks_at_the_wall_clock(repository):
    for path in package_files():
        calls = {ast.unparse(node.func) for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)}
        where = path.relative_to(repository).as_posix()
        assert {name for name in calls & set(WALL_CLOCKS) if WALL_CLOCKS[name] != where} == set(), path
