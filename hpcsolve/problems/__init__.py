"""What an instance of each problem is, how one is generated, and how an answer is checked. No MPI, no device."""
