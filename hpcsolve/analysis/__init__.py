"""Reading results: tables, plots. Needs no MPI and no device."""
