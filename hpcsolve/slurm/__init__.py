"""Job scripts for Slurm, made from the estimate of a job."""
