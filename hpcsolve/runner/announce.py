"""The lines that a run prints of itself and of its answer. All ranks call these functions, and rank 0 prints."""

from __future__ import annotations

import socket
from pathlib import Path

import hpcsolve
from hpcsolve.algorithms.base import Outcome
from hpcsolve.answers.base import Verdict
from hpcsolve.answers.contents import Contents
from hpcsolve.output.log import Log
from hpcsolve.output.schema import answer_lines
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.notes import notes_on
from hpcsolve.problems.rounding import decimals_of, unit_text
from hpcsolve.runner.kinds import kind_of
from hpcsolve.runner.planned import PlannedRun
from hpcsolve.runner.timings import seconds_line


def say_head(planned: PlannedRun, comm: Comm, log: Log) -> None:
    """Say what is solved, what is worth a note in it, on which ranks, and what in the output will be replaced.

    Collective.
    """
    what = kind_of(planned.job).headline(planned.instance.problem)
    log.say(f"hpcsolve {hpcsolve.__version__}: {planned.job.settings.algorithm}, {what}")
    for line in notes_on(planned.instance.problem) if comm.rank == 0 else ():
        log.say(line)
    values = kind_of(planned.job).values(planned.instance)
    if values["rounded_to"] is not None:
        unit = unit_text(decimals_of(values["rounded_to"]) or 0)
        log.say(f"costs:  rounded to {unit}; the answer's exact cost stands beside the rounded one")
    hosts = comm.allgather(socket.gethostname())
    where = ", ".join(f"{hosts.count(host)} on {host}" for host in dict.fromkeys(hosts))
    log.say(f"ranks:  {comm.size} ({where})")
    if planned.earlier is not None and not planned.earlier.complete:
        log.say(f"output: {planned.output} holds a result of this job, {planned.earlier.in_words}; "
                "a complete result or a better one will replace it")


def say_devices(reason: str, comm: Comm, log: Log) -> None:
    """Say which device each rank uses, and why. Collective."""
    reasons = comm.allgather(reason)
    for text in dict.fromkeys(reasons):
        ranks = [rank for rank, other in enumerate(reasons) if other == text]
        who = "every rank" if len(ranks) == comm.size else f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"
        log.say(f"device: {who}: {text}")
    log.note(f"device of this rank: {reason}")


def say_existing(planned: PlannedRun, log: Log) -> None:
    """Print the result that the output holds already."""
    assert planned.existing is not None
    log.say(f"{planned.output}: this job is done already; its result:")
    for line in answer_lines(planned.existing, str(planned.output)):
        log.answer(line)
    log.answer(f"check:  {planned.existing_verdict}")
    log.answer(f"file:   {planned.output}")


def say_end(outcome: Outcome, log: Log) -> None:
    """Say why the search was stopped, and after how much work. Say nothing if it ended by itself."""
    if outcome.ended:
        log.say(f"stopped: {outcome.ended}")


def say_answer(planned: PlannedRun, contents: Contents, verdict: Verdict, log: Log, file: Path | None) -> None:
    """Print the answer, the verdict on it, the times and the file. Called on rank 0.

    Parameters
    ----------
    file
        Where the result is, or None if it was not written.
    """
    for line in answer_lines(contents, str(planned.output)):
        log.answer(line)
    log.answer(f"check:  {verdict}")
    log.say(seconds_line(contents))
    if file is None:
        return
    if planned.keeps_earlier(contents):
        assert planned.earlier is not None
        log.answer(f"file:   {planned.output} keeps the result of an earlier run ({planned.earlier.in_words})")
    else:
        rest = "" if contents.attributes["complete"] else ", not complete: the same job will run again and replace it"
        log.answer(f"file:   {file}{rest if str(file) == planned.output else ''}")
