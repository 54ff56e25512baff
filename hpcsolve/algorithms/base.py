"""What every algorithm takes and returns, which is all that the runner and the output know of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol

import msgspec

from hpcsolve.answers.base import AnswerType, Verdict, columns_of, distance_tables_of
from hpcsolve.answers.contents import Column, DistanceTable, Group
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.problems.rounding import floor_at_scale, largest_cost

if TYPE_CHECKING:
    from hpcsolve.algorithms.trial import Trial
    from hpcsolve.answers.contents import Contents
    from hpcsolve.parallel.comm import Comm

WITHOUT_WORK = "ranks without work"
"""Key, in the details of an estimate, of the number of ranks that will idle."""
TO_FILL_GPUS = "to fill the GPUs"
"""Key, in the details of an estimate, of what a job would need to fill GPUs that it leaves mostly idle, in words."""


class StopCriteria(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The `[stop]` table, which ends a run early with the best answer so far.

    A search ends at the first criterion that it meets; None is no criterion. An algorithm's table names those that it
    honours (`Table.stops`); the others were refused when the job was read.

    Attributes
    ----------
    seconds
        Seconds since the start of the search (of `hpcsolve solve --seconds`: of the command, but for compiling).
    target
        A cost that is good enough, in the instance's own unit.
    iterations
        Number of iterations.
    stagnation
        Number of iterations in a row without a better answer.
    gap
        A proven gap that is small enough: (cost - lower bound) / lower bound, 0.01 for 1 %. A search that has a lower
        bound ends at it in any case.
    memory
        Bytes that a rank may take for what grows during the search; by default four fifths of what is free.
    """

    seconds: Annotated[float, msgspec.Meta(gt=0)] | None = None
    target: float | None = None
    iterations: Annotated[int, msgspec.Meta(ge=1, le=2**32 - 1)] | None = None
    stagnation: Annotated[int, msgspec.Meta(ge=1)] | None = None
    gap: Annotated[float, msgspec.Meta(ge=0, lt=1e9)] | None = None
    memory: Annotated[int, msgspec.Meta(ge=1)] | None = None

    def good_enough(self, lower_bound: int) -> int:
        """Return the largest cost whose gap to a lower bound is small enough, both in scaled integers.

        That is the lower bound itself if no gap is given, or the bound is not above 0.
        """
        return lower_bound + floor(max(0, lower_bound) * Fraction(repr(self.gap or 0.0)))

    def scaled_target(self, scale: int) -> int | None:
        """Return the largest cost that meets the target, in units of 1 / `scale`, or None without a target."""
        return None if self.target is None else floor_at_scale(self.target, scale)


NO_STOP = StopCriteria()


@dataclass(frozen=True)
class Plan:
    """How a problem will be solved and what that needs, known before anything is allocated."""

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
    method: str = ""
    """How the problem is solved, in the algorithm's own word, for `Algorithm.run`."""
    otherwise: Plan | None = None
    """By another method, which is taken if this one does not fit in the memory, or None."""
    note: str = ""
    """A line for the log after the run, that says why this method was taken in place of the first one, or ""."""
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
        This rank's own share of `/ranks`: `operations`, `bytes_sent`, `seconds_wait`.
    ended
        Why the search ended, and after how much work, in words for the log; "" if it just came to its end.
    complete
        Whether the run ended by itself or by a stop criterion, and not by an interruption. The same on every rank.
    wrong
        What the algorithm itself found wrong with this rank's part of the answer, in words, or None.
    """

    answer: Any
    groups: Mapping[str, Mapping[str, Column]] = field(default_factory=dict)
    rank: Mapping[str, float | int] = field(default_factory=dict)
    ended: str = ""
    complete: bool = True
    wrong: str | None = None

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


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """An algorithm's own table in a job file. Its keys are read and refused one by one when the job is read."""

    STOPS: ClassVar[tuple[str, ...]] = ()
    """The keys of `[stop]` that the algorithm honours, perhaps only with some parameters (`stops`)."""

    def stops(self) -> tuple[str, ...]:
        """Return the keys of `[stop]` that the algorithm honours with these parameters."""
        return self.STOPS

    def forbids_stop(self) -> str:
        """Return what forbids every key of `[stop]`, as a job file has it, such as `mode = "kmb"`, or ""."""
        return ""

    def can_resume(self) -> bool:
        """Return whether a run with these parameters writes checkpoints and goes on from one."""
        return False


@dataclass(frozen=True, eq=False)
class Statement:
    """What is asked of a problem, in positions and integers. All that the job's files say is read, checked and refused.

    It is made once, on rank 0, and broadcast.

    Attributes
    ----------
    problem
        A `Tsp`, a `TspBatch` or a `Graph`.
    parameters
        The algorithm's table of the job.
    question
        The question that the answer must meet, for `AnswerType.check` and `verify`.
    sha256
        For each key that names a file, the SHA-256 of its content, or of what it says where its form does not matter.
    """

    problem: Any
    parameters: Any
    question: Any = None
    sha256: Mapping[str, str] = field(default_factory=dict)

    def fits(self) -> bool:
        """Return whether the algorithm can take the costs, exact as they are. If not, decimals may be rounded."""
        return True

    def may_end_early(self, criteria: StopCriteria = NO_STOP) -> bool:
        """Return whether a run that is interrupted ends with the best answer so far."""
        return bool(self.parameters.stops())


class Algorithm(ABC):
    """All that the rest of hpcsolve knows of an algorithm. Its package has one, named `ALGORITHM`.

    A job's way leads through `statement`, `plan` and `run`.

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
    kernel_files
        Files of cuda_src that a run loads, without suffix; none if it has no kernels. Those of `host/` have functions
        that run on the host's cores whatever the device.
    cores
        Those of them whose kernels run on the host's cores even if the device is a GPU. The value says whether they may
        run on the GPU, too.
    groups
        The groups that it adds to the result file beside the answer: group name -> its datasets.
    files
        Its keys that may name a file. The job keeps the SHA-256 of the file's content beside the key, as `KEY-sha256`.
    words
        Values of these keys that are keywords, not names of files.
    batches
        Whether it takes a `TspBatch` in place of a `Tsp`.
    """

    name: ClassVar[str]
    kind: ClassVar[str]
    answers: ClassVar[tuple[AnswerType, ...]]
    parameters: ClassVar[type[Table]]
    kernel_files: ClassVar[tuple[str, ...]] = ()
    cores: ClassVar[Mapping[str, bool]] = {}
    groups: ClassVar[Mapping[str, Group]] = {}
    files: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[tuple[str, ...]] = ()
    batches: ClassVar[bool] = False

    def kernels_of(self, parameters: Any, instance: Any, criteria: StopCriteria) -> tuple[str, ...]:
        """Return those of `kernel_files` that a run of a job may load, as far as its keys say it."""
        return self.kernel_files

    def little_for_a_gpu(self, parameters: Any) -> str:
        """Return which jobs compute nearly all on the host's cores, in words, if this is one of them, or ""."""
        return ""

    def largest_cost(self, n: int, edges: int) -> int:
        """Return the largest integer cost with which no sum of costs overflows, whatever the instance.

        Costs that must be rounded are rounded to this size.

        Parameters
        ----------
        n, edges
            Numbers of vertices (or cities) and of edges (or arcs).
        """
        return largest_cost(n)

    @abstractmethod
    def statement(self, problem: Any, parameters: Any, to_check: bool = False) -> Any:
        """Return the statement of a job.

        Parameters
        ----------
        to_check
            Whether only an answer is to be checked. Then a file may be gone whose SHA-256 suffices for that.

        Raises
        ------
        InputError
            The parameters do not fit the problem, or a file that they name is wrong, or is another one than when its
            SHA-256 was noted in them.
        """

    @abstractmethod
    def plan(
        self, statement: Any, ranks: int, info: DeviceInfo = ONE_CORE, criteria: StopCriteria = NO_STOP
    ) -> Plan:
        """Return how so many ranks, each with such a device, will solve the problem, and what they need.

        Raises
        ------
        InputError, ResourceError
            They cannot solve it, whatever the memory.
        """

    @abstractmethod
    def run(
        self, statement: Any, device: Device, comm: Comm, report: Report = silent, criteria: StopCriteria = NO_STOP,
        seed: int = 1, checkpoints: Checkpoints = NONE, method: str = "",
    ) -> Outcome:
        """Return the outcome of a run. All ranks call it with the same statement.

        Once any rank is asked to stop, an algorithm that honours keys of `[stop]` ends soon with the best answer so
        far, and one that can resume writes a checkpoint and, if it has no answer, raises `Stopped`. The ranks agree on
        when.

        Parameters
        ----------
        seed
            Of the random numbers.
        method
            `Plan.method` of the plan that fits the memory. By default that of the plan itself.
        """

    @abstractmethod
    def trial(
        self, statement: Any, criteria: StopCriteria, ranks: int, device: Device, seed: int, method: str = "",
    ) -> Trial:
        """Do some of a job's work on this rank's device, to learn the time of all of it.

        It takes a second or two, or as long as a single piece of the work.

        Parameters
        ----------
        method
            As in `run`.
        """

    def again(self, statement: Any, contents: Contents) -> Verdict | None:
        """Return the verdict of a second search by other means, for `hpcsolve verify --again`, or None without one."""
        return None

    def solve(
        self, problem: Any, device: Device, comm: Comm, parameters: Any, report: Report = silent,
        criteria: StopCriteria = NO_STOP, seed: int = 1, checkpoints: Checkpoints = NONE,
    ) -> Outcome:
        """State a problem, which is the same on all ranks, and run."""
        statement = on_rank_0(comm, lambda: self.statement(problem, parameters))
        return self.run(statement, device, comm, report, criteria, seed, checkpoints)
