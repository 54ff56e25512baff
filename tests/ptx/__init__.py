"""An interpreter of PTX, which executes nvcc's own code for the kernels without a GPU. See machine.hpp and check.py."""
