"""`hpcsolve --help` answers at once, because it imports nothing heavy."""

import subprocess
import sys

HEAVY = [
    "numpy", "scipy", "h5py", "mpi4py", "msgspec", "pycuda", "tqdm", "matplotlib", "pandas", "networkx", "dataclasses",
]
"""What `--help` must not import. `dataclasses` is the light one: it takes with it a third of the time of `--help`."""
PROGRAM = f"""
import sys
from hpcsolve.cli import main
sys.argv = ["hpcsolve", *sys.argv[1:]]
try:
    code = main()
except SystemExit as leaving:
    code = leaving.code
print([name for name in {HEAVY} if name in sys.modules], code or 0)
"""


def test_help_imports_nothing_heavy():
    for arguments in (["--help"], ["run", "--help"], ["--version"]):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False, timeout=30
        )
        assert done.stdout.splitlines()[-1] == "[] 0", done.stdout + done.stderr
        assert "hpcsolve" in done.stdout
