"""Runs a command on the stub driver: `python -m tests.stub_driver make test-gpu`.

Its settings (driver.cpp, nvcc.py) are taken from the environment. STUB_NVCC is `single` by default, the quickest build,
and STUB_MEMORY 8 GiB, for which published instances are small.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.stub_driver.build import CannotBuild, build_stub


def main(command: list[str]) -> int:
    """Build the driver in a folder of its own, run the command, and return its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            stub = build_stub(Path(folder))
        except CannotBuild as reason:
            print(f"there is no stub driver: {reason}", file=sys.stderr)
            return 4
        defaults = {"STUB_NVCC": "single", "STUB_MEMORY": str(8 << 30)}
        environment = {**defaults, **stub.environment(int(os.environ.get("STUB_GPUS", "1")))}
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
