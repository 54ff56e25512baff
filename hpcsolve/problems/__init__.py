"""The problems themselves: what an instance is, what a solution is, and how to check one. No MPI, no device."""
