"""Half an hour on a GPU: checks of the answers, times of the kernels, and the best launch shapes.

    python -m jobs.benchmarks.gpu                          # all parts, each under ten minutes
    python -m jobs.benchmarks.gpu truth times              # some of them
    python -m jobs.benchmarks.gpu --small                  # small sizes; without a GPU on the stub driver of tests/
    python -m jobs.benchmarks.gpu.table build/gpu          # writes the figures into jobs/benchmarks/gpu.md

The summary names each step that failed, took too long or was left out because its program is missing; the next step
runs all the same. Logs, clocks and summary.md are written into one folder. The exit code is 1 if a step failed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hpcsolve.device.select import list_gpus
from hpcsolve.errors import ResourceError
from jobs.benchmarks.common.command import end_with, new_parser
from jobs.benchmarks.gpu.parts import parts
from jobs.benchmarks.gpu.steps import run_part
from jobs.benchmarks.gpu.table import summary

CLOCKS = "timestamp,clocks.sm,clocks.mem,temperature.gpu,power.draw,utilization.gpu,clocks_throttle_reasons.active"


def main() -> int:
    """Run the parts that the command asks for, write the summary, and return the exit code."""
    parser = new_parser(__package__, __doc__)
    known = list(parts(False))
    parser.add_argument("parts", nargs="*", choices=[*known, []], default=[], metavar="PART",
                        help=f"{', '.join(known)} (default all)")
    parser.add_argument("--small", action="store_true", help="small sizes, to try this program, also without a GPU")
    parser.add_argument("--output", type=Path, default=Path("build/gpu"), metavar="FOLDER",
                        help="of the logs and summary.md (default build/gpu)")
    options = parser.parse_args()
    folder = options.output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    environment = _environment(options.small, folder)
    done = []
    with _clocks(folder):
        for name, steps in parts(options.small).items():
            if name in (options.parts or known):
                done += run_part(name, steps(), folder, environment)
                (folder / "summary.md").write_text("\n".join(summary(folder)) + "\n", encoding="utf-8")
    print(f"Written to {folder}: summary.md and the logs")
    return int(any(step.failed for step in done))


def _environment(small: bool, folder: Path) -> Mapping[str, str]:
    """Return the environment of the steps: that of the stub driver if a small run finds no GPU."""
    try:
        list_gpus()
    except ResourceError:
        if not small:
            raise
        from tests.stub_driver.build import build_stub

        print("no GPU: the steps run on the stub driver, whose times mean nothing", flush=True)
        stub = build_stub(folder / "stub").environment(gpus=1, nvcc="single", memory=2**31)
        return {**stub, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))}


@contextmanager
def _clocks(folder: Path) -> Iterator[None]:
    """Have nvidia-smi write the GPU's clocks, temperature and power into clocks.csv every second, where it exists."""
    program = shutil.which("nvidia-smi")
    if program is None:
        yield
        return
    with open(folder / "clocks.csv", "a", encoding="utf-8") as file:
        process = subprocess.Popen([program, f"--query-gpu={CLOCKS}", "--format=csv", "-l", "1"], stdout=file,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    end_with(main, __package__)
