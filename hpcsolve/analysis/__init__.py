"""`hpcsolve.Result` and plots, which need neither MPI nor a device."""
