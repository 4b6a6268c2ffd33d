"""Python source to the typed program: the dialect, its types by numba's rules, and its refusals."""

from gemmlab.emulator.lower.arguments import arguments_of
from gemmlab.emulator.lower.listing import listing
from gemmlab.emulator.lower.lowering import lower, program_of

__all__ = ["arguments_of", "listing", "lower", "program_of"]
