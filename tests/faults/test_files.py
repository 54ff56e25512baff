"""What files must not be able to do: lead out of a folder, load foreign code, keep secrets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import h5py
import pytest

from hpcsolve.errors import DamagedFileError
from hpcsolve.output.reader import read_result
from hpcsolve.replacing import write_bytes
from hpcsolve.sweep.expand import expand
from tests.faults.conftest import Start

JOB = 'algorithm = "held-karp"\ninstance = { generate = "random-matrix", n = 8, seed = 1 }\noutput = "out.h5"\n'
NAMES = ["../../etc/x.tsp", "/etc/passwd.tsp", "a/../../b.tsp", "..", "...", "-rf.tsp", "~root.tsp", "\u2025.tsp"]


def test_the_runs_of_a_sweep_stay_in_its_folder(tmp_path: Path) -> None:
    listed = ", ".join(f"'{name}'" for name in NAMES)
    (tmp_path / "sweep.toml").write_text(f"algorithm = 'held-karp'\ninstance = [{listed}]\n")
    runs = expand(str(tmp_path / "sweep.toml"), [], str(tmp_path / "out")).runs
    outputs = [Path(str(run.job.settings.output)) for run in runs]
    assert len(set(outputs)) == len(NAMES)
    assert {path.resolve().parent for path in outputs} == {tmp_path / "out"}
    assert not [path for path in outputs if path.name.startswith(("-", ".", "~"))]


def test_an_output_that_is_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / "out.h5").symlink_to(tmp_path / "mine")
    write_bytes(tmp_path / "out.h5", b"result")
    assert (tmp_path / "mine").read_bytes() == b"mine" and not (tmp_path / "out.h5").is_symlink()


PLUGIN = """#include <stdio.h>
__attribute__((constructor)) static void loaded(void) { fclose(fopen("LOADED", "w")); }
int H5PLget_plugin_type(void) { return 0; }
const void *H5PLget_plugin_info(void) { return 0; }
"""


def test_no_plugin_of_libhdf5_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hpcsolve: Start) -> None:
    """A result file that names a foreign filter is refused before libhdf5 looks for the plugin."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugin.c").write_text(PLUGIN.replace("LOADED", str(tmp_path / "loaded")))
    library = tmp_path / "plugins" / "libplugin.so"
    subprocess.run(["g++", "-x", "c", "-shared", "-fPIC", tmp_path / "plugin.c", "-o", library], check=True)
    (tmp_path / "job.toml").write_text(JOB)
    assert hpcsolve("run", "job.toml", "--device", "cpu", cwd=tmp_path, timeout=200).returncode == 0
    with h5py.File(tmp_path / "out.h5", "r+") as file:
        del file["solution/tour"]
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((8,))
        properties.set_filter(32999, h5py.h5z.FLAG_OPTIONAL, ())  # not registered by anybody
        space = h5py.h5s.create_simple((8,))
        tour = h5py.h5d.create(file["solution"].id, b"tour", h5py.h5t.NATIVE_INT32, space, properties)
        tour.write_direct_chunk((0,), bytes(32))
    (tmp_path / "loaded").unlink(missing_ok=True)
    with pytest.raises(DamagedFileError):
        read_result(tmp_path / "out.h5")
    environment = {**os.environ, "HDF5_PLUGIN_PATH": str(tmp_path / "plugins")}
    verified = hpcsolve("verify", "out.h5", cwd=tmp_path, env=environment)
    assert verified.returncode == 5 and not (tmp_path / "loaded").exists(), verified.stderr
    read = [sys.executable, "-c", "import h5py; h5py.File('out.h5')['solution/tour'][()]"]
    subprocess.run(read, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert (tmp_path / "loaded").exists(), "libhdf5 alone would load it, or this test cannot fail"


OWNERS = ("AWS", "SLURM", "GITHUB", "OMP", "CUDA", "MPI", "PMI", "HPCSOLVE", "OMPI", "SSH")
SECRETS = [f"{owner}_{kind}" for owner in OWNERS
           for kind in ("TOKEN", "SECRET_ACCESS_KEY", "PASSWORD", "JWT", "CREDENTIALS")]


def test_none_of_50_secrets_is_kept(tmp_path: Path, hpcsolve: Start) -> None:
    """Neither in the result, a checkpoint, a log, nor in what is printed."""
    assert len(SECRETS) == 50
    (tmp_path / "job.toml").write_text(JOB.replace("n = 8", "n = 18"))
    environment = {**os.environ, **{name: f"hush-{name}" for name in SECRETS}, "SLURM_JOB_ID": "4711"}
    run = ("run", "job.toml", "--device", "cpu", "--checkpoint-interval", "0", "--log-dir", "logs")
    stopped = hpcsolve(*run, "--deadline", "0.001", cwd=tmp_path, env=environment, timeout=200)
    assert stopped.returncode == 75 and len(require_silent(tmp_path)) > 3
    done = hpcsolve(*run, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    report = hpcsolve("report", "out.h5", "-o", "out.html", cwd=tmp_path, env=environment)
    printed = "".join(one.stdout + one.stderr for one in (stopped, done, report))
    assert "hush" not in printed
    require_silent(tmp_path)
    assert read_result(tmp_path / "out.h5").value("provenance", "SLURM_JOB_ID") == "4711"


def require_silent(folder: Path) -> list[Path]:
    """Check that no file has a secret, and return the files."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in files:
        assert b"hush" not in path.read_bytes(), path
    return files
