"""Runs a job: read on rank 0 -> broadcast -> device -> estimate -> algorithm -> check -> write on rank 0.

choose.py    the job for an instance that comes without one
method.py    the method for it: algorithm, keys, stop criteria, and why
ahead.py     builds kernels before MPI starts
kinds.py     the kinds of problems: how an instance is read and described
reading.py   reads the instance of a job, and reports its progress
planned.py   a job with its instance, and its result if the output holds it already
run.py       the run itself, phase by phase, with the lines that it prints, and its checkpoints
memory.py    compares the estimate with the free memory of all ranks
conclude.py  the end of a run: check, gather, write, print
verify.py    `hpcsolve verify`: checks the answer in a result file
forecast.py  `hpcsolve estimate`: the memory and time that a job would need, from a trial of some of its work
info.py      `hpcsolve info`: versions, devices, compilers
"""
