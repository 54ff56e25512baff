"""What every algorithm takes and returns, which is all that the runner and the output know of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import msgspec

from hpcsolve.answers.base import AnswerType, Verdict, columns_of, distance_tables_of
from hpcsolve.answers.contents import Column, DistanceTable, Group
from hpcsolve.checkpoint.checkpoints import Checkpoints

if TYPE_CHECKING:
    from hpcsolve.algorithms.trial import Trial
    from hpcsolve.answers.contents import Contents
    from hpcsolve.device.base import Device, DeviceInfo
    from hpcsolve.parallel.comm import Comm

WITHOUT_WORK = "ranks without work"
"""Key, in the details of an estimate, of the number of ranks that will idle."""
TO_FILL_GPUS = "to fill the GPUs"
"""Key, in the details of an estimate, of what a job would need to fill GPUs that it leaves mostly idle, in words."""


class StopCriteria(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The `[stop]` table, which ends a run early with the best answer so far.

    A search ends at the first criterion that it meets; None is no criterion. An algorithm names those that it honours
    in its `stops`; the others were refused when the job was read.

    Attributes
    ----------
    seconds
        Time since the start of the search, in seconds (with `hpcsolve solve --seconds`: of the command).
    target
        A cost that is good enough, in the instance's own unit.
    iterations
        Number of iterations.
    stagnation
        Number of iterations in a row without a better answer.
    memory
        Bytes that a rank may take for what grows during the search; by default four fifths of what is free.
    """

    seconds: Annotated[float, msgspec.Meta(gt=0)] | None = None
    target: float | None = None
    iterations: Annotated[int, msgspec.Meta(ge=1, le=2**32 - 1)] | None = None
    stagnation: Annotated[int, msgspec.Meta(ge=1)] | None = None
    memory: Annotated[int, msgspec.Meta(ge=1)] | None = None

    def scaled_target(self, scale: int) -> int | None:
        """Return the largest cost that meets the target, in units of 1 / `scale`, or None without a target."""
        # The decimal digits are taken as written: 1.15 in hundredths is 115, but 1.15 * 100 < 115 in floats.
        return None if self.target is None else math.floor(Fraction(str(self.target)) * scale)


NO_STOP = StopCriteria()


@dataclass(frozen=True)
class Estimate:
    """What a run will need, computed before anything is allocated."""

    device_bytes: tuple[int, ...]
    """Device memory of each rank, exact to the byte."""
    host_bytes: tuple[int, ...]
    """Host memory of each rank beside it (messages, tables). On a CPU both come from the same memory."""
    operations: int
    """Work of all ranks together, in the algorithm's own unit."""
    operation: str
    """What one operation is, in words."""
    bytes_sent: tuple[int, ...]
    """Bytes that each rank sends to others."""
    details: Mapping[str, int | str]
    """More lines for `hpcsolve estimate`, in order: the split, the layers."""
    largest: Callable[[Sequence[int]], int]
    """Given each rank's free bytes (as `needed` counts them), the most cities (or vertices) of this kind that fit."""
    shared_bytes: int = 0
    """Tables shared by the ranks of a host (`Comm.once_per_host`, `Device.constant`). Each GPU has its own copy."""
    otherwise: Estimate | None = None
    """What another method needs that the run takes if this does not fit, or None."""
    smaller: str = ""
    """How a similar job would take much less memory, for the message that this one does not fit, or ""."""
    beside: Callable[[], Mapping[str, int | str]] = dict
    """Returns further lines for `hpcsolve estimate`. They take time to compute, so a run does not ask for them."""

    @property
    def needed(self) -> tuple[int, ...]:
        """Bytes of device and host memory together that each rank uses, shared ones in full."""
        return tuple(a + b + self.shared_bytes for a, b in zip(self.device_bytes, self.host_bytes))


@dataclass(frozen=True)
class Outcome:
    """What a run returns on every rank.

    Attributes
    ----------
    answer
        A record of `hpcsolve.answers`, such as `Tour`; None on ranks that have no part of it. It depends on the job
        alone, to the byte.
    groups
        Groups of the result file beside it (`layers`, `colonies`, ...): group name -> columns. Filled on rank 0.
    rank
        This rank's own share of `/ranks`: `operations`, `bytes_sent`, `seconds_kernel`, `seconds_copy`, `seconds_wait`.
    ended
        Why the search ended, and after how much work, in words for the log; "" if it just came to its end.
    complete
        Whether the run ended by itself or by a stop criterion, and not by an interruption. The same on every rank.
    """

    answer: Any
    groups: Mapping[str, Mapping[str, Column]] = field(default_factory=dict)
    rank: Mapping[str, float | int] = field(default_factory=dict)
    ended: str = ""
    complete: bool = True

    @property
    def solution(self) -> dict[str, Column]:
        """The content of `/solution` except its tables, by dataset name."""
        return {} if self.answer is None else columns_of(self.answer)

    @property
    def rows(self) -> dict[str, DistanceTable]:
        """The tables of `/solution` with this rank's rows, by dataset name."""
        return {} if self.answer is None else distance_tables_of(self.answer)

    @property
    def cost(self) -> int | None:
        """Cost of the answer in scaled integers, or None if it has no cost."""
        column = self.solution.get("cost")
        return None if column is None else int(column.values)


UNKNOWN = -1.0
"""What an algorithm reports instead of a fraction while the amount of work is unknown."""


class Report(Protocol):
    """A function that an algorithm calls with its progress. The runner shows it on rank 0."""

    def __call__(self, done: float, message: str = "") -> None:
        """Report the fraction of all work that is done, 0 to 1, or `UNKNOWN`."""


def silent(done: float, message: str = "") -> None:
    """Ignore the progress."""


@dataclass(frozen=True)
class Algorithm:
    """All that the rest of hpcsolve knows of an algorithm. Its package has one, named `ALGORITHM`.

    Attributes
    ----------
    name
        As in job files; also the name of its table there.
    kind
        The kind of problem that it solves: "tsp", "graph" or "steiner".
    answers
        The kinds of answers that it may give.
    parameters
        The struct of its table in job files.
    estimate
        Function of (problem, parameters, number of ranks, device of each rank): what a run will need.
    run
        Function of (problem, device, communicator, parameters, report, stop criteria, seed of the random numbers,
        `Checkpoints`): the outcome of a run. All ranks call it with the same problem. Once any rank is asked to stop,
        an algorithm that honours `stops` ends soon with the best answer so far, and one that can resume writes a
        checkpoint and, if it has no answer, raises `Stopped`. The ranks agree on when.
    trial
        Function of (problem, parameters, stop criteria, number of ranks, device, seed): does some of a job's work on
        this rank's device, in a second or two or as long as a single piece of it takes, to learn the time of all of it.
    kernel_files
        Files of cuda_src that a run loads, without suffix; none if it has no kernels. Those of `host/` have functions
        that run on the host's cores whatever the device.
    files_needed
        Function of (parameters, the job's `instance`, stop criteria): those of `kernel_files` that a run of the job may
        load, as far as the job says it. By default all.
    stops
        The keys of the job's `[stop]` that it honours, perhaps only with some parameters (`can_stop`).
    groups
        The groups that it adds to the result file beside the answer: group name -> its datasets.
    can_stop
        Function of the parameters and a key of `stops`: whether the key is honoured with them.
    may_end_early
        Function of (problem, parameters, whether there are stop criteria): whether a run on this problem has a best
        answer so far, before it is over.
    file_keys
        Its keys that may name a file: key -> a function that reads the file and returns its SHA-256. The function takes
        the path and the expected SHA-256 or None. The job keeps the hash beside the key, as `KEY-sha256`.
    batches
        Whether it takes a `TspBatch` in place of a `Tsp`.
    can_resume
        Function of the parameters: whether a run with them writes checkpoints and goes on from one.
    asked
        Function of (problem, parameters): the question that the answer must meet, for `AnswerType.check` and `verify`.
    check
        Function of (problem, parameters, outcome), called on every rank: a text that says what the algorithm itself
        found wrong with this rank's part of the answer, or None.
    again
        Function of (problem, parameters, contents of a result): the verdict of a second search by other means, for
        `hpcsolve verify --again`; None if there is no such search.
    largest_cost
        Function of the numbers of vertices (or cities) and of edges (or arcs): the largest integer cost with which no
        sum of costs overflows, whatever the instance. Costs that must be rounded are rounded to this size.
    fits
        Function of (problem, parameters): whether the algorithm can take the costs of this instance, exact as they are,
        which may be larger.
    """

    name: str
    kind: str
    answers: tuple[AnswerType, ...]
    parameters: type[msgspec.Struct]
    estimate: Callable[[Any, Any, int, DeviceInfo], Estimate]
    run: Callable[[Any, Device, Comm, Any, Report, StopCriteria, int, Checkpoints], Outcome]
    trial: Callable[[Any, Any, StopCriteria, int, Device, int], Trial]
    kernel_files: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()
    groups: Mapping[str, Group] = field(default_factory=dict)
    can_stop: Callable[[Any, str], bool] = lambda parameters, key: True
    may_end_early: Callable[[Any, Any, bool], bool] = lambda problem, parameters, stops: True
    file_keys: Mapping[str, Callable[[str, str | None], str]] = field(default_factory=dict)
    batches: bool = False
    can_resume: Callable[[Any], bool] = lambda parameters: False
    asked: Callable[[Any, Any], Any] = lambda problem, parameters: None
    check: Callable[[Any, Any, Outcome], str | None] = lambda problem, parameters, outcome: None
    again: Callable[[Any, Any, Contents], Verdict] | None = None
    largest_cost: Callable[[int, int], int] = lambda n, edges: (2**62 - 1) // max(n, 1)
    fits: Callable[[Any, Any], bool] = lambda problem, parameters: True
    files_needed: Callable[[Any, Any, StopCriteria], tuple[str, ...]] | None = None

    def files_of(self, parameters: Any, instance: Any, criteria: StopCriteria) -> tuple[str, ...]:
        """Return the kernel files that a run of a job may load."""
        return self.kernel_files if self.files_needed is None else self.files_needed(parameters, instance, criteria)

    def stop_keys(self, parameters: Any) -> tuple[str, ...]:
        """Return the keys of `[stop]` that the algorithm honours with these parameters."""
        return tuple(key for key in self.stops if self.can_stop(parameters, key))

    def has_partial_answers(self, problem: Any, parameters: Any, criteria: StopCriteria = NO_STOP) -> bool:
        """Return whether a run that is interrupted ends with the best answer so far."""
        return bool(self.stop_keys(parameters)) and self.may_end_early(problem, parameters, criteria != NO_STOP)
