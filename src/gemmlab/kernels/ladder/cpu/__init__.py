"""The ladder on a CPU: from three loops to packed panels around a register micro-kernel, one idea a file.

Files are loaded when a rung is asked for, so that only those who run one need numba.
"""
