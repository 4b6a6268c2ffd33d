"""NVIDIA GPUs without any framework: numba.cuda programs, and CUDA C++ through NVRTC, timed by the device's events."""
