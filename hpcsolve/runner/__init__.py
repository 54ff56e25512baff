"""From a job to a result: read on rank 0 -> broadcast -> device -> estimate -> algorithm -> check -> write on rank 0.

task.py     the job with its instance, and whether the result is there already
ahead.py    kernels, built before MPI starts
memory.py   the estimate against free memory, on all ranks
run.py      the run itself, phase by phase
collect.py  what the result file holds
check.py    the answer, checked in plain numpy
summary.py  the answer, for people
verify.py   a result file, checked again
forecast.py what a job would need, and how long it would take
survey.py   what is installed here
"""
