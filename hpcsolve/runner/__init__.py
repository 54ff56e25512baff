"""Runs a job: read on rank 0 -> broadcast -> device -> estimate -> algorithm -> check -> write on rank 0.

choose.py    the job for an instance that comes without one
method.py    the method for it: algorithm, keys, stop criteria, and why
planned.py   a job with its instance, and its result if the output holds it already
kinds/       the kinds of problems: how an instance is read and described
ahead.py     builds kernels before MPI starts
reading.py   reads the instance, and reports its progress
memory.py    compares the estimate with the free memory of all ranks
run.py       the run itself, phase by phase
announce.py  the lines that a run prints
check.py     the check of the answer on all ranks
conclude.py  the end of a run: check, gather, write, print
collect.py   the content of the result file
timings.py   the line that says how long the run took
verify.py    `hpcsolve verify`: checks the answer in a result file
forecast.py  `hpcsolve estimate`: the memory and time that a job would need
phases.py    the time of a job by phases, from a trial of some of its work
info.py      `hpcsolve info`: versions, devices, compilers
"""
