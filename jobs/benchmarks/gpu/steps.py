"""Steps of a part: commands under a time limit, with a log each. A step that fails does not stop the next one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

RECORD = "steps.jsonl"
PART_SECONDS = 570.0
"""A part ends within ten minutes, so that a short allocation of a GPU is enough for it."""


@dataclass(frozen=True)
class Step:
    """A command.

    Attributes
    ----------
    seconds
        Its time limit.
    environment
        Additional environment variables.
    expected
        The exit code of success.
    needs
        A program that the command starts: without it the step is left out.
    """

    name: str
    command: tuple[str, ...]
    seconds: float
    environment: Mapping[str, str] = field(default_factory=dict)
    expected: int = 0
    needs: str = ""


@dataclass(frozen=True)
class Done:
    """The outcome of a step: a line of `steps.jsonl`, written as soon as the step ends."""

    part: str
    step: str
    command: str
    outcome: str
    seconds: float
    log: str

    @property
    def failed(self) -> bool:
        """Whether the step ran and did not succeed."""
        return self.outcome != "done" and not self.outcome.startswith("left out")


def run_part(part: str, steps: list[Step], folder: Path, environment: Mapping[str, str]) -> list[Done]:
    """Run the steps of a part one after the other, and record each as soon as it has ended."""
    end, found = time.monotonic() + PART_SECONDS, []
    for number, step in enumerate(steps, 1):
        log = folder / f"{part}-{number:02}-{step.name.replace(' ', '-')}.log"
        started = time.monotonic()
        outcome = run_step(step, log, min(step.seconds, end - started), {**environment, **step.environment})
        seconds = round(time.monotonic() - started, 1)
        found.append(Done(part, step.name, " ".join(step.command), outcome, seconds, log.name))
        with open(folder / RECORD, "a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(found[-1])) + "\n")
        print(f"{part}: {step.name}: {outcome}, {seconds:.1f} s", flush=True)
    return found


def run_step(step: Step, log: Path, seconds: float, environment: Mapping[str, str]) -> str:
    """Run a step for at most so many seconds, write its output to the log, and return the outcome."""
    if seconds < 5:
        return "left out: no time"
    for name in filter(None, (step.command[0], step.needs)):
        if shutil.which(name, path=environment.get("PATH")) is None:
            return f"left out: no {name}"
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen(step.command, stdout=file, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, env=dict(environment), start_new_session=True)
        try:
            code = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return f"timed out after {seconds:.0f} s"
        finally:
            _end(process)
    return "done" if code == step.expected else f"failed: exit code {code}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process, if it still runs, and all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def recorded(folder: Path) -> list[Done]:
    """Return all steps that were recorded in a folder, the last run of each."""
    lines = (folder / RECORD).read_text(encoding="utf-8").splitlines() if (folder / RECORD).exists() else []
    every = [Done(**json.loads(line)) for line in lines]
    return list({(done.part, done.step): done for done in every}.values())
