"""What several algorithms of tours share: instances as kernels have them, lists of near cities, k-exchanges, and when a
search ends."""
