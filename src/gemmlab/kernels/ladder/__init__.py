"""The ladder as programs: numba.cuda kernels from uncoalesced to split-k, one idea a file, and their broken twins.

The files are loaded when a kernel is asked for, so that only those who run one need numba.
"""

from .rungs import BROKEN, RUNGS, SIZES, Rung, Twin, load

__all__ = ["BROKEN", "RUNGS", "SIZES", "Rung", "Twin", "load"]
