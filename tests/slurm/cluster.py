"""A Slurm cluster of three emulated hosts on one machine: the real slurmctld on rh0, a real slurmd on rh1 and on rh2.

    python -m tests.slurm.cluster up FOLDER                 # 3 s; as root, with slurm-wlm, munge and iproute2 installed
    python -m tests.slurm.cluster run FOLDER sinfo          # any command, on rh0
    python -m tests.slurm.cluster cut FOLDER rh2            # takes rh2 off the network; `join` puts it back
    python -m tests.slurm.cluster down FOLDER

A host is a set of Linux namespaces: its own network (cables are veth pairs, rh0 has the switch), processes, host name,
shared memory and mounts; files and cores are the machine's. The first process of a host holds its namespaces. When that
is killed, the kernel ends every other process of the host and removes its cables and mounts. So `down` leaves nothing
but FOLDER, where the logs are.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

CONTROLLER, NODES = "rh0", ("rh1", "rh2")
HOSTS = {"rh0": "10.77.0.1", "rh1": "10.77.0.2", "rh2": "10.77.0.3"}
PROGRAMS = ("slurmctld", "slurmd", "munged", "ip", "unshare", "nsenter")
SWITCH = "switch"
SECONDS_TO_START = 60.0
NEW_NAMESPACES = ("--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--mount-proc", "--kill-child")

# The first process of a host. It reaps the orphans of the others, which Slurm would otherwise take for living ones.
FIRST_PROCESS = """\
set -e
hostname "$1"
mount --bind "$2/hosts" /etc/hosts
mount -t tmpfs -o mode=1777 shm /dev/shm
ip link set lo up
: > "$2/$1.ready"
while :; do sleep 3600 & wait || :; done
"""

# cred_expire: how long a requeued job waits before it starts again (120 s by default). SlurmdTimeout: how soon the
# controller notices a host that was cut off (300 s). KillWait: the time from SIGTERM to SIGKILL (30 s).
# config_overrides: a node has as many CPUs as this file says.
SLURM_CONF = """\
ClusterName=testbed
SlurmctldHost=rh0(10.77.0.1)
SlurmUser=root
AuthInfo=socket={folder}/munge/socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmctldTimeout=20
SlurmdTimeout=15
KillWait=5
ReturnToService=2
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=500
SchedulerParameters=sched_interval=2,batch_sched_delay=0
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=rh1 NodeAddr=10.77.0.2 CPUs=4 RealMemory=4000 Gres=gpu:2 State=UNKNOWN
NodeName=rh2 NodeAddr=10.77.0.3 CPUs=4 RealMemory=4000 Gres=gpu:2 State=UNKNOWN
PartitionName=all Nodes=rh1,rh2 Default=YES State=UP
"""
GRES_CONF = "NodeName=rh1,rh2 Name=gpu File={folder}/gpu[0-1]\n"  # like /dev/null: Slurm counts and assigns them
MPI_CONF = "PMIxCliTmpDirBase=/dev/shm\n"  # of each host its own; on one /tmp the two slurmd would collide


def why_not() -> str:
    """Return why this machine cannot run the cluster, empty if it can."""
    missing = [program for program in PROGRAMS if shutil.which(program, path=_path()) is None]
    if missing:
        return f"no {', '.join(missing)} (Debian, Ubuntu: apt install slurm-wlm munge iproute2)"
    if os.geteuid() != 0:
        return "only root can make network namespaces and start slurmd"
    done = _run(["unshare", *NEW_NAMESPACES, "true"], check=False)
    return f"no namespaces here: {done.stderr.strip()}" if done.returncode else ""


def up(folder: Path) -> None:
    """Start the cluster, and return when both nodes are idle. `folder` must not exist.

    Raises
    ------
    RuntimeError
        It did not start; the logs in `folder` say why. Nothing is left running.
    """
    _write_files(folder)
    try:
        for host in HOSTS:
            _start_host(host, folder)
        _connect(folder)
        _run(["munged", f"--socket={folder}/munge/socket", f"--key-file={folder}/munge/key", "--force",
              f"--pid-file={folder}/munge/pid", f"--log-file={folder}/munge/log", f"--seed-file={folder}/munge/seed"])
        on_host(CONTROLLER, ["slurmctld", "-f", f"{folder}/slurm.conf"], folder)
        for node in NODES:
            on_host(node, ["slurmd", "-f", f"{folder}/slurm.conf"], folder)
        idle = dict.fromkeys(NODES, "idle")
        wait_until(lambda: states(folder) == idle, f"the nodes are not idle; see {folder}/*.log")
    except BaseException:
        down(folder)
        raise


def down(folder: Path) -> None:
    """End every process of the cluster. Its folder, with the logs, stays."""
    for file in [*folder.glob("*.holder"), folder / "munge" / "pid"]:
        if file.exists() and file.read_text().strip():
            pid = int(file.read_text())
            _kill(pid)
            wait_until(partial(_ended, pid), f"process {pid} does not end")
            file.unlink(missing_ok=True)


def on_host(
    host: str, command: Sequence[str], folder: Path, check: bool = True, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run a command on a host, in the current directory, to its end."""
    line = ["nsenter", f"--target={_first_process(host, folder)}", "--net", "--mount", "--uts", "--ipc", "--pid", "env",
            f"--chdir={Path.cwd()}", *command]
    return _run(line, check=check, timeout=timeout, environment=variables(folder))


def variables(folder: Path) -> dict[str, str]:
    """Return the environment of commands on the hosts. Ranks on one host must not find the others in shared memory."""
    return {**os.environ, "SLURM_CONF": f"{folder}/slurm.conf", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0",
            "PATH": _path()}


def cut(host: str, folder: Path) -> None:
    """Take a host off the network."""
    on_host(CONTROLLER, ["ip", "link", "set", host, "down"], folder)


def join(host: str, folder: Path) -> None:
    """Put a host back on the network."""
    on_host(CONTROLLER, ["ip", "link", "set", host, "up"], folder)


def states(folder: Path) -> dict[str, str]:
    """Return the state of each node, in Slurm's words."""
    done = on_host(CONTROLLER, ["sinfo", "--noheader", "--Node", "--format=%N %T"], folder, check=False)
    return dict(line.split() for line in done.stdout.splitlines())


def wait_until(happened: Callable[[], bool], otherwise: str, seconds: float = SECONDS_TO_START) -> None:
    """Return when something has happened. Raises a RuntimeError that says `otherwise` if it takes too long."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            raise RuntimeError(otherwise)
        time.sleep(0.1)


def _write_files(folder: Path) -> None:
    folder.mkdir(mode=0o755, parents=True)
    for name in ("munge", "state", *(f"spool-{node}" for node in NODES)):
        (folder / name).mkdir(mode=0o755)
    for name, text in {"slurm.conf": SLURM_CONF, "gres.conf": GRES_CONF, "mpi.conf": MPI_CONF}.items():
        (folder / name).write_text(text.format(folder=folder))
    names = [f"{address} {host}\n" for host, address in {"localhost": "127.0.0.1", **HOSTS}.items()]
    (folder / "hosts").write_text("".join(names))
    for number in range(2):
        os.mknod(folder / f"gpu{number}", 0o666 | 0o020000, os.makedev(1, 3))
    key = folder / "munge" / "key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(128))


def _start_host(host: str, folder: Path) -> None:
    with open(folder / f"{host}.log", "wb") as log:
        holder = subprocess.Popen(
            ["unshare", *NEW_NAMESPACES, "bash", "-c", FIRST_PROCESS, "bash", host, str(folder)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=variables(folder),
        )
    (folder / f"{host}.holder").write_text(str(holder.pid))
    ready = folder / f"{host}.ready"
    wait_until(lambda: ready.exists() or holder.poll() is not None, f"host {host} does not start")
    if holder.poll() is not None:
        raise RuntimeError(f"host {host} did not start: {(folder / f'{host}.log').read_text().strip()}")


def _connect(folder: Path) -> None:
    """Lay a cable from each node to the switch on the controller, and give all their addresses."""
    on_host(CONTROLLER, ["ip", "link", "add", SWITCH, "type", "bridge"], folder)
    for node in NODES:
        pid = str(_first_process(node, folder))
        plug = ["ip", "link", "add", node, "type", "veth", "peer", "name", "eth0"]
        on_host(CONTROLLER, plug, folder)
        _into(CONTROLLER, ["ip", "link", "set", "eth0", "netns", pid], folder)
        on_host(CONTROLLER, ["ip", "link", "set", node, "master", SWITCH, "up"], folder)
    for host, address in HOSTS.items():
        device = SWITCH if host == CONTROLLER else "eth0"
        on_host(host, ["ip", "address", "add", f"{address}/24", "dev", device], folder)
        on_host(host, ["ip", "link", "set", device, "up"], folder)


def _into(host: str, command: Sequence[str], folder: Path) -> None:
    """Run a command in the network of a host, but among the machine's processes, whose numbers it may name."""
    _run(["nsenter", f"--target={_first_process(host, folder)}", "--net", *command])


def _first_process(host: str, folder: Path) -> int:
    """Return the number, on the machine, of the first process of a host: the only child of its holder."""
    holder = int((folder / f"{host}.holder").read_text())
    return int(Path(f"/proc/{holder}/task/{holder}/children").read_text().split()[0])


def _path() -> str:
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"])


def _run(
    command: Sequence[str], check: bool = True, timeout: float = 60, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=timeout,
        env=environment or {**os.environ, "PATH": _path()},
    )
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done


def _ended(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):  # ended already, or started by another process
        pass


def main(arguments: Sequence[str]) -> int:
    """Run one of the commands above and return its exit code."""
    what, name, *rest = arguments
    folder = Path(name).resolve()
    if what == "up":
        problem = why_not()
        if problem:
            print(f"no cluster: {problem}", file=sys.stderr)
            return 1
        up(folder)
    elif what == "run":
        done = on_host(CONTROLLER, rest, folder, check=False, timeout=3600)
        sys.stdout.write(done.stdout)
        sys.stderr.write(done.stderr)
        return done.returncode
    else:
        {"down": down, "cut": lambda at: cut(rest[0], at), "join": lambda at: join(rest[0], at)}[what](folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
