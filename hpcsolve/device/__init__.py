"""Devices: CPU cores or one NVIDIA GPU behind one protocol. Nothing outside this folder imports pycuda."""
