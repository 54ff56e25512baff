"""The two calls of the runner, `estimate` before anything is allocated and `run`: the choice of the method."""

from __future__ import annotations

from dataclasses import replace

from hpcsolve.algorithms.base import NO_STOP, Estimate, Outcome, Report, StopCriteria
from hpcsolve.algorithms.held_karp import batch
from hpcsolve.algorithms.held_karp.bounded import run as bounded
from hpcsolve.algorithms.held_karp.lattice import run as lattice
from hpcsolve.algorithms.held_karp.lattice.orders import run as orders
from hpcsolve.algorithms.held_karp.method import is_bounded, may_be_bounded
from hpcsolve.algorithms.held_karp.problem import OrderProblem, order_problem
from hpcsolve.algorithms.held_karp.question import Parameters, asked
from hpcsolve.answers.tour import NoTour
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo
from hpcsolve.device.select import memory_for_rank
from hpcsolve.errors import HpcsolveError
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.problems.tsp import Tsp
from hpcsolve.problems.tsp_batch import TspBatch


def estimate(tsp: Tsp | TspBatch, parameters: Parameters, ranks: int, info: DeviceInfo = ONE_CORE) -> Estimate:
    """Return what a run on so many ranks will need.

    Raises
    ------
    InputError
        The parameters do not fit the instance, or its costs do not fit 32 bits.
    ResourceError
        So many cities that no machine could hold them, or more ranks than can share one problem.
    """
    if isinstance(tsp, TspBatch):
        return batch.estimate(tsp, asked(tsp, parameters), ranks, info)
    if not is_bounded(tsp, parameters):
        need = lattice.estimate(tsp, parameters, ranks)
        if may_be_bounded(tsp, parameters):
            return replace(need, otherwise=_bounded_estimate(tsp, parameters, ranks))
        return need
    return _bounded_estimate(tsp, parameters, ranks)


def _bounded_estimate(tsp: Tsp, parameters: Parameters, ranks: int) -> Estimate:
    problem = order_problem(tsp, asked(tsp, parameters))
    return bounded.estimate(tsp, problem, ranks, lambda: _beside(tsp, parameters, ranks))


def _beside(tsp: Tsp, parameters: Parameters, ranks: int) -> dict[str, int | str]:
    """Return what the lattice would need, as a line of the estimate."""
    try:
        need = lattice.estimate(tsp, parameters, ranks)
    except HpcsolveError as error:
        return {"the lattice": str(error)}
    return {"the lattice": f"{max(need.needed):,} bytes per rank, {need.operations:.4g} operations ({need.operation})"}


def run(
    tsp: Tsp | TspBatch, device: Device, comm: Comm, parameters: Parameters, report: Report,
    criteria: StopCriteria = NO_STOP, seed: int = 1, checkpoints: Checkpoints = NONE,
) -> Outcome:
    """Return the optimum, with a proof. `tsp` is the same on all ranks, and so is the outcome but for `rank`."""
    if isinstance(tsp, TspBatch):
        return batch.run(tsp, asked(tsp, parameters), device, comm, report)
    outcome = _by_method(tsp, device, comm, parameters, report, criteria, seed, checkpoints)
    if (saved := checkpoints.saved) is not None and isinstance(outcome.answer, NoTour):
        on_rank_0(comm, lambda: _refuse_tour(saved, order_problem(tsp, asked(tsp, parameters))))
    return outcome


def _refuse_tour(saved: Saved, problem: OrderProblem) -> None:
    """Raise a `DamagedFileError` if a checkpoint proves that there is no tour, and the cities as they stand are one."""
    saved.require(problem.value(range(problem.m)) is None, "the proof that there is no tour")


def _by_method(
    tsp: Tsp, device: Device, comm: Comm, parameters: Parameters, report: Report, criteria: StopCriteria, seed: int,
    checkpoints: Checkpoints,
) -> Outcome:
    """Return the outcome of bounds or of the lattice."""
    if _takes_bounds(tsp, parameters, criteria, device, comm, checkpoints):
        question = comm.bcast(asked(tsp, parameters) if comm.rank == 0 else None)
        assert question is not None
        problem = order_problem(tsp, question)
        outcome, proof = bounded.run(tsp, problem, question.plain, device, comm, report, criteria, checkpoints, seed)
        if not proof.capped or proof.optimal or not _lattice_fits(tsp, parameters, device, comm):
            return outcome
        if comm.rank == 0:
            device.notes.append('method: lattice, because the states of "bounded" do not fit in the memory')
        checkpoints = replace(checkpoints, saved=None)
    return lattice.run(tsp, device, comm, parameters, report, checkpoints)


def _takes_bounds(tsp: Tsp, parameters: Parameters, criteria: StopCriteria, device: Device, comm: Comm,
                  checkpoints: Checkpoints) -> bool:
    """Return whether the run is by bounds. A run from a checkpoint keeps to its method. Collective."""
    if checkpoints.saved is not None:
        return bounded.LEVEL in checkpoints.saved.numbers
    if is_bounded(tsp, parameters, criteria != NO_STOP):
        return True
    if not may_be_bounded(tsp, parameters) or _lattice_fits(tsp, parameters, device, comm):
        return False
    if comm.rank == 0:
        device.notes.append('method: bounded, because the table of "lattice" does not fit in the memory')
    return True


def _lattice_fits(tsp: Tsp, parameters: Parameters, device: Device, comm: Comm) -> bool:
    """Return whether the method is "auto" and every rank has the memory for the lattice. Collective."""
    if comm.bcast(parameters.method != "auto"):
        return False
    needed = comm.bcast(_lattice_bytes(tsp, parameters, comm.size) if comm.rank == 0 else None)
    assert needed is not None
    return all(comm.allgather(needed[comm.rank] <= memory_for_rank(device, comm)))


def _lattice_bytes(tsp: Tsp, parameters: Parameters, ranks: int) -> tuple[int, ...]:
    """Return the bytes that each rank needs for the lattice. Where it is refused, they are more than any memory."""
    try:
        return lattice.estimate(tsp, parameters, ranks).needed
    except HpcsolveError:
        return (2**62,) * ranks


def fits(tsp: Tsp | TspBatch, parameters: Parameters) -> bool:
    """Return whether the method's states suffice for the costs as they are. Raises as `core_problem`."""
    if isinstance(tsp, TspBatch):
        return batch.fits(tsp, asked(tsp, parameters))
    if not is_bounded(tsp, parameters):
        return lattice.fits(tsp, parameters)
    question = asked(tsp, parameters)
    return orders.fits(tsp, question) and bounded.fits(order_problem(tsp, question))
