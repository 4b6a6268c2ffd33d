"""Multiplications on an NVIDIA GPU as fast as we can make them, with the accuracy that is asked for."""
