"""The `[steiner-kmb]` table of a job file, and what a run works with on each rank: its setting, its end, its work."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import msgspec

from hpcsolve.algorithms.base import Report, Statement, StopCriteria, Table
from hpcsolve.algorithms.shortest_paths.engines import TerminalEngineName, described
from hpcsolve.algorithms.steiner_kmb.network import Network
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints, Wish, agreed
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.store import State
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.steiner import fits


class Parameters(Table, frozen=True):
    """The `[steiner-kmb]` table of a job file.

    Attributes
    ----------
    mode
        "fast": a tree grown by one search, on rank 0 alone; "kmb": the method that Kou, Markowsky and Berman published,
        with one search per terminal, spread over the ranks; "best": reductions by bounds, then iterated 1-Steiner on
        a table of distances from the terminals to every vertex, which is spread over the ranks, then ruin and recreate;
        "exact": the lightest tree, with a proof, by reductions, mode best (if they leave more than 12 terminals), and
        dynamic programming over sets of terminals, which is spread over the ranks. Its time and memory cannot be
        foreseen. Modes best and exact honour [stop]: they end soon, with the best tree so far.
    engine
        Of modes kmb, best and exact: how to search; the tree does not depend on it. "auto": phast if the graph has at
        most 4 arcs per vertex and there are enough terminals for each core to pay for a hierarchy; else tile.
        "near-far" chooses "near-far-block" or "near-far-grid". (ENGINES).
    shakes
        Of modes best and exact: how long ruin and recreate goes on, from a few hundredths of a second for each shake to
        a second and more in graphs of 10^5 vertices. With at most 64 terminals, half of the nodes of iterated 1-Steiner
        are also dropped at least this many times. The seed decides what is tried. Four shakes make trees lighter by a
        few tenths of a per cent.
    starts
        Of modes best and exact: number of independent searches by ruin and recreate, each as long as `shakes` says.
        They are dealt to the ranks and their CPU threads. The edges of all their trees are a smaller problem, which is
        solved in the same way, and so on as long as trees become lighter.
    exchange
        Whether key-path exchange improves the tree, on rank 0. It takes one or two seconds for 10^5 vertices, and makes
        the tree lighter by about one per cent. Modes best and exact always do it.

    For study
    ---------
    engine
        (STUDIES).
    at_once
        Of engine p-pull: number of terminals that are searched from at once.
    halt
        Of mode kmb: where a search ends. "bottleneck": at the length of the longest edge of the terminals' spanning
        tree, which one search finds beforehand; "terminals": when the last terminal is settled, as published. The tree
        is the same.
    matrix
        Of mode kmb: whether the result also has the table of distances between all terminals. Each search then goes on
        to the last terminal.
    """

    STOPS: ClassVar[tuple[str, ...]] = ("seconds", "target", "memory")

    mode: Literal["fast", "kmb", "best", "exact"] = "fast"
    engine: TerminalEngineName = "auto"
    at_once: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 8
    shakes: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 4
    starts: Annotated[int, msgspec.Meta(ge=1, le=65535)] = 1
    halt: Literal["bottleneck", "terminals"] = "bottleneck"
    matrix: bool = False
    exchange: bool = False

    def stops(self) -> tuple[str, ...]:
        """Return the keys of `[stop]` that can end the mode. Modes fast and kmb have no answer before their end."""
        return {"exact": self.STOPS, "best": self.STOPS[:2]}.get(self.mode, ())

    def forbids_stop(self) -> str:
        """Return the mode as a key if it has no answer before its end."""
        return "" if self.stops() else f'mode = "{self.mode}"'

    @property
    def to_last_terminal(self) -> bool:
        """Whether searches of mode kmb go on to the last terminal, as published."""
        return self.halt == "terminals" or self.matrix

    def can_resume(self) -> bool:
        """Return whether the mode writes checkpoints. Mode "fast" takes no longer than reading the graph."""
        return self.mode != "fast"


Parameters.__doc__ = described(Parameters.__doc__)


@dataclass(frozen=True, eq=False)
class TreeStatement(Statement):
    """A graph whose terminals are to be joined, and what is asked for beside the tree."""

    def fits(self) -> bool:
        """Return whether the weight of all edges is small enough for the kernels' sums."""
        return fits(self.problem)


@dataclass(frozen=True)
class Work:
    """The work of a rank: arcs relaxed, bytes of rows sent, rounds (in mode best).

    Attributes
    ----------
    history
        Of mode best on rank 0: (rounds, seconds, weight) of each better tree, and of the best at the end.
    """

    relaxed: int = 0
    sent: int = 0
    rounds: int = 0
    history: Sequence[tuple[int, float, int]] = ()

    def __add__(self, more: Work) -> Work:
        """Return the sum of some work and of what came after it, without a history."""
        return Work(self.relaxed + more.relaxed, self.sent + more.sent, self.rounds + more.rounds)

    def of_rank(self, waited: float = 0.0) -> dict[str, float | int]:
        """Return this rank's share of `/ranks`, given the seconds that it waited."""
        return {"operations": self.relaxed, "bytes_sent": self.sent, "seconds_wait": waited}


@dataclass
class RoundStop:
    """The time limit of a run, by the first clock of any rank, its target, and interruptions of any rank.

    It is asked with weights of trees in the graph as it was read.

    Attributes
    ----------
    target
        A weight, scaled as those of the graph.
    checkpoints, nbytes
        The checkpoints, which also know of interruptions of this rank; the bytes that this rank writes into each.
    wish
        What all ranks have agreed to do: go on, save, or stop.
    met, broken_off
        The criterion that was met, in words, or ""; whether the run was interrupted before.
    saved
        Whether a checkpoint has been written since the interruption.
    """

    comm: Comm
    criteria: StopCriteria
    target: int | None
    checkpoints: Checkpoints = NONE
    nbytes: int = 0
    wish: Wish = Wish.GO_ON
    started: float = field(default_factory=time.perf_counter)
    met: str = ""
    broken_off: bool = False
    saved: bool = False

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self.started

    def resume(self, saved: Saved) -> None:
        """Count the seconds that the run took before a checkpoint, too."""
        self.started -= saved.seconds()

    def is_over(self, weight: int | None = None, full: str = "") -> bool:
        """Return whether a criterion is met, with a tree of this weight (given on rank 0), or any rank is interrupted.

        Collective.

        Parameters
        ----------
        full
            The limit of memory that this rank has reached, in words, or "".
        """
        met = self._criterion(weight if self.comm.rank == 0 else None) or full
        votes = self.comm.allgather((met, self.checkpoints.wish(self.nbytes)))
        self.met = next((met for met, _ in votes if met), "")
        self.wish = agreed([wish for _, wish in votes])
        over, asked = bool(self.met), self.wish == Wish.STOP
        self.broken_off = asked and not over
        return over or asked

    def is_late(self) -> bool:
        """Return whether this rank's time is up: then `is_over` will end the run."""
        return bool(self._criterion(None))

    def is_due(self) -> bool:
        """Return whether this rank's time is up or it is interrupted: then `is_over` will end the run."""
        return self.is_late() or self.checkpoints.wish(self.nbytes) == Wish.STOP

    def meets_target(self, weight: int) -> bool:
        """Return whether a tree of this weight meets the target."""
        if self.target is None or weight > self.target:
            return False
        self.met = self._criterion(weight)
        return True

    def ended(self, rounds: int) -> str:
        """Return why the run ended early, in words, or "" if it was complete."""
        return self.reason and f"{self.reason} {f'in round {rounds}' if rounds else 'before the first round'}"

    @property
    def reason(self) -> str:
        """Why the search must end, in words, or ""."""
        return "interrupted" if self.broken_off else self.met

    def _criterion(self, weight: int | None) -> str:
        """Return the criterion that is met by now, in words, or ""."""
        if self.criteria.seconds is not None and self.seconds() >= self.criteria.seconds:
            return f"{self.criteria.seconds:g} s reached"
        if weight is not None and self.target is not None and weight <= self.target:
            return f"target {self.criteria.target:.10g} reached"
        return ""


@dataclass(frozen=True)
class Setting:
    """What a search works with on each rank.

    Attributes
    ----------
    whole
        The network of the graph as it was read.
    host
        The CPU, which is also `device` if the job has no GPU.
    keeps
        Whether the search writes checkpoints, and goes on from one. A part of another search does not.
    """

    whole: Network
    host: HostDevice
    device: Device
    comm: Comm
    parameters: Parameters
    report: Report
    stop: RoundStop
    seed: int
    keeps: bool = True

    @property
    def writes(self) -> bool:
        """Whether the search writes checkpoints."""
        return self.keeps and self.stop.checkpoints.writer is not None

    def ends(self, weight: int | None, state: Callable[[], State], full: str = "") -> bool:
        """Return whether the search must end, as `RoundStop.is_over`. Save its state if it is time. Collective."""
        stop, over = self.stop, self.stop.is_over(weight, full)
        if self.writes and stop.wish != Wish.GO_ON and (stop.broken_off or not over):
            stop.checkpoints.save(state(), last=over)
            stop.saved = over
        return over

    @property
    def saved(self) -> Saved | None:
        """The checkpoint that the search goes on from, if there is one."""
        return self.stop.checkpoints.saved if self.keeps else None
