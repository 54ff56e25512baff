"""What several algorithms of tours share: instances as kernels have them, and lists of near cities."""
