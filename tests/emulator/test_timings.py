"""Which of the orders that were tried is told as the worst."""

import numpy as np
from numba import cuda

from gemmlab.emulator.launch import launch_of
from gemmlab.emulator.lower import program_of
from gemmlab.emulator.serial import parse
from gemmlab.emulator.serial.trial import Try
from gemmlab.emulator.timings import Timings


@cuda.jit
def stores(out):
    out[0] = cuda.threadIdx.x


def test_of_orders_that_do_equal_harm_the_plainest_is_told():
    out = np.zeros(1)
    program = program_of(stores, out)
    timings = Timings(program, launch_of(program, 1, 2, (out,)), None, None, None)
    errors = {"lockstep": (0, 0.0), "alternating": (3, 0.5), "random:seed=1": (3, 7.0), "reverse": (1, 9.0)}
    tried = [Try(parse(name), wrong, error, None) for name, (wrong, error) in errors.items()]
    assert [section.name for section in timings.told(tried) if section.worst] == ["alternating"]
    assert str(timings.witness) == "alternating"
