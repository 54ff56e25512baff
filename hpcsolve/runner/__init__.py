"""Runs a job: read on rank 0 -> broadcast -> device -> estimate -> algorithm -> check -> write on rank 0.

task.py      the job with its instance, and whether its result is there already
kinds/       the kinds of problems: how an instance is read and described
ahead.py     builds kernels before MPI starts
memory.py    compares the estimate with the free memory of all ranks
run.py       the run itself, phase by phase
check.py     the check of the answer on all ranks
collect.py   the content of the result file
summary.py   how long the run took
verify.py    verifies a result file
forecast.py  what a job would need, and how long it would take
survey.py    the lines of `hpcsolve info`
"""
