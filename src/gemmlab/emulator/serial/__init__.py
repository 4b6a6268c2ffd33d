"""Run a kernel's threads one at a time, in any order that barriers allow, and search for the order that does most harm.

Threads take turns at whole accesses: sequential consistency. CUDA leaves a racy program undefined, so that hardware may
do worse than any order found here, never less; the worst that is found is a lower bound.
"""

from gemmlab.emulator.serial.running import Ran, run_schedule
from gemmlab.emulator.serial.schedule import NAMED, Schedule, parse
from gemmlab.emulator.serial.search import Try, Worst, replay, search, with_horizon

__all__ = ["NAMED", "Ran", "Schedule", "Try", "Worst", "parse", "replay", "run_schedule", "search", "with_horizon"]
