"""What files must not be able to do, and what full disks and second writers must not destroy."""

import errno
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import h5py
import pytest

from hpcsolve import cli
from hpcsolve.errors import DamagedFileError, EnvironmentFault, InputError
from hpcsolve.output.log import Log
from hpcsolve.output.reader import read_result
from hpcsolve.replacing import make_folder, replacing, write_bytes
from hpcsolve.sweep import expand
from tests.cli.seen import solution
from tests.faults.conftest import ALL_FAULTS
from tests.faults.preload import preloading

JOB = 'algorithm = "held-karp"\ninstance = { generate = "random-matrix", n = 8, seed = 1 }\noutput = "out.h5"\n'
NAMES = ["../../etc/x.tsp", "/etc/passwd.tsp", "a/../../b.tsp", "..", "...", "-rf.tsp", "~root.tsp", "\u2025.tsp"]


def test_the_runs_of_a_sweep_stay_in_its_folder(tmp_path):
    listed = ", ".join(f"'{name}'" for name in NAMES)
    (tmp_path / "sweep.toml").write_text(f"algorithm = 'held-karp'\ninstance = [{listed}]\n")
    runs = expand(str(tmp_path / "sweep.toml"), [], str(tmp_path / "out")).runs
    outputs = [Path(str(run.job.settings.output)) for run in runs]
    assert len(set(outputs)) == len(NAMES)
    assert {path.resolve().parent for path in outputs} == {tmp_path / "out"}
    assert not [path for path in outputs if path.name.startswith(("-", ".", "~"))]


def test_an_output_that_is_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / "out.h5").symlink_to(tmp_path / "mine")
    write_bytes(tmp_path / "out.h5", b"result")
    assert (tmp_path / "mine").read_bytes() == b"mine" and not (tmp_path / "out.h5").is_symlink()


def _pipe(path):
    os.mkfifo(path)


def _socket(path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


def _device(path):
    if os.geteuid() == 0:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    else:
        path.symlink_to("/dev/null")


NO_FILES = {
    "a pipe": _pipe,
    "a socket": _socket,
    "a device": _device,
    "a folder": Path.mkdir,
    "a link to an open file of a process": lambda path: path.symlink_to(f"/proc/{os.getpid()}/fd/1"),
}


@pytest.mark.parametrize("kind", NO_FILES)
def test_what_is_no_regular_file_is_never_replaced(kind, tmp_path, monkeypatch):
    """Neither by a file that is written nor by one that replaces it, whether it was there before or came meanwhile."""
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    path = Path("out")
    refusal = f"^out: is {kind}, and only regular files are written; choose another output$"
    with pytest.raises(InputError, match=refusal), replacing(path) as part:
        part.write_bytes(b"new")
        NO_FILES[kind](path)
    before = path.lstat()
    for write in (lambda: write_bytes(path, b"new"), lambda: make_folder(path)):
        with pytest.raises(InputError, match=refusal):
            write()
    assert path.lstat() == before and os.listdir() == ["out"]


RESULT = "made/out.h5"
COMMANDS = {  # name -> the words, with PIPE for the output
    "run": ("run job.toml --device cpu --overwrite --output PIPE", ""),
    "solve": ("solve a.csv --algorithm held-karp --device cpu --overwrite --output PIPE", ""),
    "write-job": ("solve a.csv --algorithm held-karp --device cpu --output new.h5 --write-job PIPE", ".toml"),
    "log-dir": ("run job.toml --device cpu --output new.h5 --log-dir .", ""),
    "checkpoint": ("run job.toml --device cpu --output new.h5", ""),
    "csv": (f"export {RESULT} --overwrite -o PIPE", ".csv"),
    "dot": (f"export {RESULT} --overwrite -o PIPE", ".dot"),
    "report": (f"report {RESULT} --overwrite -o PIPE", ""),
    "collect": (f"collect {RESULT} --overwrite -o PIPE", ""),
    "convert": ("convert a.csv --overwrite PIPE", ".tsp"),
    "generate": ("generate road-graph --n 6 --overwrite -o PIPE", ""),
    "verify": ("verify PIPE", ".h5"),
    "run a result": ("run PIPE", ".h5"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with a job, an instance and a result."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "job.toml").write_text(JOB)
    (folder / "a.csv").write_text("0,1,2\n1,0,3\n2,3,0\n")
    assert cli.main(["run", str(folder / "job.toml"), "--device", "cpu", "--quiet", "--output",
                     str(folder / "out.h5")]) == 0
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_replaces_or_opens_a_pipe(name, made, tmp_path, monkeypatch, capsys):
    """A pipe that is opened has no other end, so the command would hang."""
    monkeypatch.chdir(tmp_path)
    for file in ("job.toml", "a.csv"):
        shutil.copy(made / file, file)
    Path("made").symlink_to(made)
    words, suffix = COMMANDS[name]
    pipe = {"log-dir": "rank-0000.log", "checkpoint": "new.h5.checkpoint"}.get(name, f"pipe{suffix}")
    os.mkfifo(pipe)
    assert cli.main(words.replace("PIPE", pipe).split()) == (4 if name == "checkpoint" else 2)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and pipe in said[0] and stat.S_ISFIFO(os.lstat(pipe).st_mode)
    assert not Path("new.h5").exists()


def test_a_log_is_not_added_to_a_file_behind_a_link(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "rank-0000.log").symlink_to("mine")
    with pytest.raises(EnvironmentFault, match=r"rank-0000\.log: cannot be written: .*; choose another --log-dir"):
        Log(folder=str(tmp_path))
    assert (tmp_path / "mine").read_text() == "mine"


PLUGIN = """#include <stdio.h>
__attribute__((constructor)) static void loaded(void) { fclose(fopen("LOADED", "w")); }
int H5PLget_plugin_type(void) { return 0; }
const void *H5PLget_plugin_info(void) { return 0; }
"""


def test_no_plugin_of_libhdf5_is_loaded(tmp_path, monkeypatch, hpcsolve):
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


def test_none_of_50_secrets_is_kept(tmp_path, hpcsolve):
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


def require_silent(folder):
    """Check that no file has a secret, and return the files."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in files:
        assert b"hush" not in path.read_bytes(), path
    return files


@pytest.mark.parametrize(("number", "cure"), [
    (errno.ENOSPC, "free some space, or choose another file"),
    (errno.EDQUOT, "free some space, or choose another file"),
    (errno.EACCES, "choose another file"),
])
def test_only_a_lack_of_space_is_cured_by_space(number, cure, tmp_path):
    words = f"^{tmp_path / 'out'}: cannot be written: {os.strerror(number)}; {cure}$"
    with pytest.raises(EnvironmentFault, match=words), replacing(tmp_path / "out"):
        raise OSError(number, os.strerror(number))


PROGRAM = Path(__file__).with_name("disk_program.py")


def tried_all(job, how, folder, run_process):
    """Run the program, and return its lines. The last one is of a run in which no write failed."""
    environment = preloading("failing_disk", folder)
    done = run_process([sys.executable, PROGRAM, folder / "disk", job, how], timeout=1500, env=environment)
    assert done.returncode == 0, done.stderr
    tried = [SimpleNamespace(**json.loads(line)) for line in done.stdout.splitlines()]
    assert tried[-1].code == 0 and tried[-1].lines == 0 and len(tried) > 10
    return tried[:-1]


@pytest.mark.timeout(1600)
@pytest.mark.parametrize("how", ["once", "full"] if ALL_FAULTS else ["once"])
@pytest.mark.parametrize("job", ["ants", "rows"] if ALL_FAULTS else ["ants"])
def test_the_k_th_write_fails(job, how, tmp_path, run_process):
    """A failed checkpoint does not end the run. A failed result goes elsewhere, and the same command then gives it."""
    tried = tried_all(job, how, tmp_path, run_process)
    print(f"{job}, {how}: {len(tried)} writes failed in turn, exit codes {sorted({one.code for one in tried})}")
    for one in tried:
        assert one.code in (0, 4) and one.old_remains, one
        assert (one.code_again, one.right) == (0, True), one
        assert one.generation == "-" if one.code == 0 else int(one.generation) >= 1, one
        assert one.lines <= 1 or how == "full", one
        assert one.lines >= 1 or one.code == 0, one
    begun = next(one.k for one in tried if one.code == 0 or one.elsewhere)  # before it, the search has not begun
    assert begun < 8 and [one for one in tried[begun:] if one.elsewhere != (one.code == 4)] == []
    assert any(one.elsewhere for one in tried) and (how == "once" or tried[0].code == 4)


TWICE = """algorithm = "ant-colony"
instance = { generate = "uniform-tsp", n = 50, seed = 1 }
output = "out.h5"
threads = 1
ant-colony.bound = false
[stop]
iterations = 150
"""
WITHOUT_LOCKS = {"HDF5_USE_FILE_LOCKING": "FALSE"}


def test_two_writers(tmp_path, hpcsolve):
    """The later one takes the lease. The earlier one ends with exit code 4, unless it was done before."""
    (tmp_path / "job.toml").write_text(TWICE)
    run = ("run", "job.toml", "--device", "cpu")
    alone = hpcsolve(*run, "--output", "alone.h5", cwd=tmp_path)
    assert alone.returncode == 0, alone.stderr
    expected = solution(tmp_path / "alone.h5")
    (tmp_path / "alone.h5").unlink()
    command = [sys.executable, "-m", "hpcsolve", *run, "--checkpoint-interval", "0"]
    both = [subprocess.Popen(command, cwd=tmp_path, env={**os.environ, **WITHOUT_LOCKS}, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [process.communicate(timeout=100)[1] for process in both]
    codes = [process.returncode for process in both]
    assert 0 in codes and set(codes) <= {0, 4}, errors
    for code, said in zip(codes, errors):
        assert code == 0 or ("lease" in said or "has taken over" in said), said
    assert solution(tmp_path / "out.h5") == expected
    assert sorted(os.listdir(tmp_path)) == ["job.toml", "out.h5"]
    assert hpcsolve("verify", "out.h5", cwd=tmp_path).returncode == 0
