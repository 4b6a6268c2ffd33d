"""Rungs in WGSL, for any GPU that Vulkan, Metal or Direct3D reaches: their text, tiles and dispatch as data.

Each loads what its numba.cuda twin beside this folder loads, and counts it where it is asked to.
"""

from .texts import TEXTS, Text

__all__ = ["TEXTS", "Text"]
