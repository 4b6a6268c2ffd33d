"""A plain, slow interpreter of numba.cuda kernels, from their syntax trees: what the compiled forms are held against.

A kernel becomes a Python generator of one thread: its own control flow stays, while every element, operation, test and
wait goes through the thread, which writes down what it did. Threads run one after the other from wait to wait. Counts
and faults are then worked out from those records by sets and pairs.

Types are numba's: each operation's are asked of numba's CUDA typing, and variables are converted where ways through the
kernel meet, as its static single assignment form does.
"""

from gemmlab.emulator.reference.running import run_reference

__all__ = ["run_reference"]
