"""Runs numba.cuda kernels on the CPU: exact counts, faults, schedules and proofs."""
