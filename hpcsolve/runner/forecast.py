"""`hpcsolve estimate`: forecasts the memory and the time of a job. It solves a small instance to measure the speed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hpcsolve.algorithms.base import NO_STOP, Estimate, never, silent
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.device.base import ONE_CORE, DeviceInfo
from hpcsolve.device.memory import available_memory
from hpcsolve.device.select import open_device
from hpcsolve.errors import HpcsolveError
from hpcsolve.formats import InstanceOf
from hpcsolve.job import Job
from hpcsolve.output.progress import duration, size
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.runner.kinds import kind_of
from hpcsolve.wording import counted


@dataclass(frozen=True)
class Forecast:
    """An estimate with the free memory and the measured speed.

    Attributes
    ----------
    memory
        Bytes free for each rank, counted as `Estimate.needed` counts.
    rate
        Operations per second of one rank, measured on this machine, or None if that was not possible.
    rate_from
        What the rate was measured on, or why it was not.
    """

    job: Job
    instance: InstanceOf[Any]
    estimate: Estimate
    memory: int
    rate: float | None
    rate_from: str

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.estimate.device_bytes)

    @property
    def fits(self) -> bool:
        """Whether every rank's share fits its free memory."""
        return max(self.estimate.needed) <= self.memory

    def lines(self) -> Iterator[str]:
        """Yield the lines that are printed."""
        problem, estimate, kind = self.instance.problem, self.estimate, kind_of(self.job)
        shared = estimate.shared_bytes
        what = f"{problem.name}, {kind.size(problem)} {kind.size_unit}"
        yield f"{self.job.settings.algorithm}, {what}, {counted(self.ranks, 'rank')}"
        yield f"device memory per rank  {_range(estimate.device_bytes)}"
        yield f"host memory per rank    {_range(estimate.host_bytes)}, for messages and tables, without Python's own"
        if shared:
            yield f"shared on a host        {size(shared)}, once for all its ranks; each GPU has a copy"
        yield f"all ranks               {size(sum(estimate.needed) - shared * (self.ranks - 1))}"
        yield f"messages per rank       {_range(estimate.bytes_sent)}"
        yield from (f"{name:23} {value}" for name, value in estimate.details.items())
        yield f"work                    {estimate.operations:.4g} operations ({estimate.operation})"
        yield f"time                    {self._time()}"
        largest = estimate.largest([self.memory] * self.ranks)
        verdict = f"{'yes' if self.fits else 'no'}: {size(self.memory)} per rank"
        yield f"fits                    {verdict}; the largest that fits: {largest} {kind.size_unit}"

    def _time(self) -> str:
        if self.rate is None:
            return f"not known: {self.rate_from}"
        seconds = self.estimate.operations / self.rate / self.ranks
        return f"about {duration(seconds)} in kernels if each rank has a device as fast as this one: {self.rate_from}"


def forecast(job: Job, instance: InstanceOf[Any], ranks: int, memory: int | None = None) -> Forecast:
    """Return what a job would need.

    Parameters
    ----------
    memory
        Bytes free for each rank, including the tables that it shares with others. By default the ranks divide the free
        memory of this machine.

    Raises
    ------
    InputError
        The job does not fit the instance.
    """
    estimate = algorithm(job.settings.algorithm).estimate(instance.problem, job.parameters, ranks, _device_info(job))
    once = estimate.shared_bytes
    free = once + max(0, available_memory() - once) // ranks if memory is None else memory
    rate, source = measured_rate(job, instance.problem)
    return Forecast(job, instance, estimate, free, rate, source)


def measured_rate(job: Job, problem: Any) -> tuple[float | None, str]:
    """Measure the rate of this machine's device on a small instance of the same kind.

    Returns
    -------
    float or None, str
        Operations per second, or None if they could not be measured. What they were measured on, or why they were not.
    """
    solver = algorithm(job.settings.algorithm)
    trial = solver.trial(problem, job.parameters)
    if trial is None:
        return None, f"the work of {job.settings.algorithm} depends on the instance too much to measure it beforehand"
    small, parameters, name = trial
    try:
        device, _ = open_device(job.settings.device, SerialComm(), threads=job.settings.threads)
        with device:
            runs = (solver.run(small, device, SerialComm(), parameters, silent, NO_STOP, job.settings.seed, never)
                    for _ in range(4))
            next(runs)  # loads the kernels, so it is not timed
            rate = max(_rate(run.rank) for run in runs)
    except HpcsolveError as error:
        return None, str(error)
    return rate, f"{rate:.2g} per second, measured now with {name} on {device.info.name}"


def _device_info(job: Job) -> DeviceInfo:
    """Return the description of this machine's device, or of one CPU core if the device cannot be opened."""
    try:
        device, _ = open_device(job.settings.device, SerialComm(), threads=job.settings.threads)
    except HpcsolveError:
        return ONE_CORE
    with device:
        return device.info


def parsed_size(text: str) -> int:
    """Return the number of bytes that a text such as `80G`, `512 MiB` or `1e9` means. K, M, G, T are powers of 1024.

    Raises
    ------
    ValueError
        The text is not such a size.
    """
    plain = text.strip().upper().removesuffix("IB").removesuffix("B").strip()
    power = "KMGT".find(plain[-1:]) + 1 if plain[-1:] else 0
    number = float(plain[:-1] if power else plain) * 1024**power
    if not 0 < number < 2**60:
        raise ValueError(text)
    return int(number)


def _rate(row: Any) -> float:
    return float(row["operations"]) / max(float(row["seconds_kernel"]), 1e-9)


def _range(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    exact = f"{high:,} bytes" if low == high else f"{low:,} to {high:,} bytes"
    return exact if high < 1024 else f"{size(high)} ({exact})"
