"""Rungs in CUDA C++, where numba.cuda has no words for what they do: their text, sizes and launch as data.

Each has a twin in numba.cuda, of the same name beside this folder, which the emulator counts. NVRTC compiles them.
"""

from .texts import TEXTS, Text

__all__ = ["TEXTS", "Text"]
