// The nvcc build: CUDA itself, and a register of 32 lanes as the threads of a warp.
#pragma once
#define KERNEL extern "C" __global__ void
#define EXPORT_KERNEL(name)
#define DEVICE __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#include "device_warp.cuh"
