"""Program of test_files.py: resumes a run on a disk whose k-th write fails, for every k, and prints what became of it.

    python disk_program.py FOLDER ants|rows once|full

`once`: the k-th call fails, as under a quota that somebody makes room in; `full`: the k-th and all later ones do.
Each line is a table in JSON: k, exit code, lines on standard error, generation of the checkpoint that remains or -,
whether the old output remains, whether the right answer was printed and is in one file elsewhere, exit code of the same
command without failures, whether its answer is right.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
import shutil
import sys
from pathlib import Path

from hpcsolve import cli
from hpcsolve.checkpoint.saved import newest
from hpcsolve.errors import HpcsolveError
from hpcsolve.output.reader import read_result
from hpcsolve.parallel.comm import SerialComm
from tests.cli.seen import solution

FOREVER = 1 << 40
JOBS = {
    "ants": """algorithm = "ant-colony"
instance = { generate = "uniform-tsp", n = 12, seed = 1 }
threads = 1
[ant-colony]
ants = 4
bound = false
[stop]
iterations = 6
""",
    "rows": """algorithm = "shortest-paths"
instance = { generate = "road-graph", n = 50, seed = 1 }
threads = 1
[shortest-paths]
sources = [1, 2, 3, 4, 5, 6, 7, 8]
""",
}
RUN = ["run", "job.toml", "--device", "cpu", "--output", "out/r.h5", "--overwrite", "--quiet"]


def run(*words: str) -> tuple[int, str, str]:
    """Run the command line in this process, and return exit code, standard error and standard output."""
    with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.redirect_stdout(io.StringIO()) as output:
        code = cli.main([*RUN, *words])
    return code, errors.getvalue(), output.getvalue()


def begin(folder: Path, job: str) -> None:
    """Make a folder with an older output, and with a checkpoint after the first piece of a job."""
    (folder / "out").mkdir(parents=True)
    os.chdir(folder)
    Path("job.toml").write_text(job)
    assert run("--set", "instance.seed=2", "--checkpoint-interval", "never")[0] == 0
    code, errors, _ = run("--checkpoint-interval", "0", "--deadline", "0.001")
    assert code == 75, (code, errors)


def remaining(folder: Path) -> str:
    """Return the number of the generation from which a run would go on."""
    try:
        saved = newest(folder / "out" / "r.h5.checkpoint", SerialComm(), lambda line: None)
    except HpcsolveError as error:
        return type(error).__name__
    return "-" if saved is None else str(saved.manifest.generation)


def found_elsewhere(folder: Path, expected: object) -> bool:
    """Return whether a folder holds one result, which is the expected one."""
    files = list(folder.glob("*/r.h5"))
    return len(files) == 1 and solution(files[0]) == expected


def main() -> None:
    """Print a line for each k until no write fails any more."""
    base, last = Path(sys.argv[1]), 0 if sys.argv[3] == "once" else FOREVER
    disk = ctypes.CDLL(os.environ["LD_PRELOAD"])
    disk.fail_writes.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_long]
    begin(base / "begun", JOBS[sys.argv[2]])
    old = Path("out/r.h5").read_bytes()
    shutil.copytree(base / "begun", base / "whole")
    os.chdir(base / "whole")
    code, _, answer = run()
    assert code == 0
    expected, k = solution(Path("out/r.h5")), 0
    while True:
        k, folder = k + 1, base / "tried"
        shutil.copytree(base / "begun", folder)
        os.chdir(folder)
        os.environ["TMPDIR"] = str(folder / "elsewhere")
        os.mkdir("elsewhere")
        disk.fail_writes(os.fsencode(folder / "out"), k, last or k)
        code, errors, said = run("--checkpoint-interval", "0")
        written = disk.written()
        disk.fail_writes(b"", 0, 0)
        kept = Path("out/r.h5").read_bytes() == old or bool(read_result(Path("out/r.h5")).attributes["complete"])
        left = remaining(folder)
        moved = said.splitlines()[:-1] == answer.splitlines()[:-1] and found_elsewhere(folder / "elsewhere", expected)
        again = run()[0]
        right = solution(Path("out/r.h5")) == expected and os.listdir("out") == ["r.h5"]
        print(json.dumps({"k": k, "code": code, "lines": errors.count("\n"), "generation": left, "old_remains": kept,
                          "elsewhere": moved, "code_again": again, "right": right}), flush=True)
        os.chdir(base)
        shutil.rmtree(folder)
        if k > written:
            return


main()
