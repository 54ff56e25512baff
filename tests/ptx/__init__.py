"""An interpreter of PTX, by which nvcc's own code for the kernels runs without a GPU. See machine.hpp and check.py."""
