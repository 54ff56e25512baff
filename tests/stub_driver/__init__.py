"""A libcuda of our own, by which the CUDA device is tested without a GPU. See driver.cpp and build.py."""
