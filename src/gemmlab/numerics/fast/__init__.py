"""Whole multiplications on a unit at speed: chains of instructions, single dot products, and whole schedules."""

from gemmlab.numerics.fast.running import chain, pairs, paths, scheduled

__all__ = ["chain", "pairs", "paths", "scheduled"]
