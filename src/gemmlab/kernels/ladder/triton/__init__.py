"""Rungs on tensor cores, in Triton; each file loads when it is asked for: only who runs one needs Triton."""
