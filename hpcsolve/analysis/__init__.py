"""One result or many: `hpcsolve.Result`, tables, statistics and plots, which need neither MPI nor a device."""
