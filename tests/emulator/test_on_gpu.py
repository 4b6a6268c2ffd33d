"""The very same kernel objects on an NVIDIA GPU, through numba-cuda, give what the plain interpreter gives."""

import numpy as np
import pytest
from numba import cuda

from emulator.programs import FRAGMENTS, random_program
from emulator.reference import dialect
from gemmlab.emulator.reference import run_reference

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not cuda.is_available(), reason="needs an NVIDIA GPU")]

SOURCES, LAUNCHES = 21, 3
WHOLE = np.int64


def on_gpu(kernel, grid, block, args, dynamic=0):
    """The arguments after a launch; arrays travel without the gaps that they may have here."""
    sent = [np.ascontiguousarray(a).copy() if isinstance(a, np.ndarray) else a for a in args]
    kernel[grid, block, 0, dynamic](*sent)
    cuda.synchronize()
    return sent


def agree(names, here, there):
    """Whole numbers exactly; floats as near as a compiler that fuses products and sums makes them."""
    for name, ours, theirs in zip(names, here, there, strict=True):
        if isinstance(ours, np.ndarray) and ours.dtype.kind == "f":
            close = 2e-3 if ours.dtype == np.float16 else 2e-6
            np.testing.assert_allclose(theirs, ours, rtol=close, atol=close, err_msg=name)
        elif isinstance(ours, np.ndarray):
            np.testing.assert_array_equal(theirs, ours, err_msg=name)


@pytest.mark.parametrize("seed", range(SOURCES))
def test_random_programs(seed):
    compared = 0
    for fragment in range(FRAGMENTS):
        for launch in range(LAUNCHES):
            program = random_program(seed, fragment, launch)
            args = program.make_args()
            if program.racy or run_reference(program.kernel, program.grid, program.block, *args).faults:
                continue  # undefined on hardware
            agree(program.names, args, on_gpu(program.kernel, program.grid, program.block, program.make_args()))
            compared += 1
    assert compared


LAUNCHED = [
    (dialect.widened, 1, 3, lambda: (np.array([0.1, 0.2, 0.3], np.float32), np.zeros((3, 4)), 0), 0),
    (dialect.halves, 1, 20, lambda: ((np.arange(20) / 7).astype(np.float16), np.zeros(20, np.float16)), 0),
    (dialect.wraps, 1, 1, lambda: (np.array([0] * 10 + [-(2**62) - 1]),), 0),
    (dialect.steered, 1, 5, lambda: (np.zeros((7, 5), WHOLE),), 0),
    (
        dialect.shaped,
        1,
        1,
        lambda: (np.arange(6).reshape(2, 3), np.arange(7) * 10, np.arange(60).reshape(3, 4, 5), np.zeros(6, WHOLE)),
        0,
    ),
    (dialect.functions, 1, 4, lambda: (np.array([0.5, 1.5, 2.25, 3.0], np.float32), np.zeros((8, 4))), 0),
    (dialect.warps, 1, 64, lambda: (np.zeros((8, 64), WHOLE),), 0),
    (dialect.barriers, 1, 40, lambda: (np.zeros((2, 40), WHOLE),), 0),
    (dialect.atomics, 1, 1, lambda: (np.zeros(9, WHOLE) - 1, np.zeros((2, 2), np.float32), np.zeros(8, WHOLE)), 0),
    (dialect.dynamic, 1, 8, lambda: (np.zeros(8, np.float32),), 33),
    (dialect.private, 1, 5, lambda: (np.zeros(5, WHOLE),), 0),
    (dialect.spaced, (2, 2, 2), (2, 3, 2), lambda: (np.zeros((4, 6, 4), WHOLE),), 0),
]


@pytest.mark.parametrize(
    ("kernel", "grid", "block", "make", "dynamic"), LAUNCHED, ids=lambda v: getattr(v, "__name__", "")
)
def test_parts_of_the_dialect(kernel, grid, block, make, dynamic):
    args = make()
    run_reference(kernel, grid, block, *args, dynamic_shared_bytes=dynamic)
    agree([str(i) for i in range(len(args))], args, on_gpu(kernel, grid, block, make(), dynamic))
