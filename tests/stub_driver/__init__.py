"""A libcuda of our own, so that the CUDA device is tested without a GPU. See driver.cpp and build.py."""
