"""Rungs in Triton's interpreter: `python -m kernels.interpreted FORMAT LAYOUT CASE...`, a line of JSON for each result.

A CASE is RUNG:SIZES:MxNxK: what the sizes are called here, and a shape. In a process of its own, since Triton chooses
between compiler and interpreter when it is first imported.
"""

import json
import os
import sys

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

from gemmlab.check import check_bounds, operands
from gemmlab.experiment.memory import addresses
from gemmlab.problem import Gemm
from gemmlab.run.backends.triton.program import persistent_launch, tensor_launch
from kernels.host_tensors import Tensor

SMALL = {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP": 2}
SIZES = {"own": {}, "small": SMALL, "whole": SMALL | {"PARTS": 1}, "far": {}}
FAR = 2**25 + 8  # elements between rows: 64 times that is more than 32 bits hold
PROGRAMS = 3  # fewer than tiles: each goes through several
FLOAT32_UNIT = 2.0**-24
ROUNDINGS = {"float16": "rne", "bfloat16": "rz"}  # of the interpreter; a GPU rounds both to the nearest
PLACES = {"a": 16, "b": 32, "c": 48}  # bytes before the first element


def as_numbers():
    """The interpreter keeps bfloat16 as the integers of its codes and multiplies those: give it their numbers."""
    plain = interpreter.InterpreterBuilder.create_dot

    def numbers(handle):
        if str(handle.dtype.scalar) != "bf16":
            return handle
        return interpreter.TensorHandle((handle.data.astype(np.uint32) << 16).view(np.float32), tl.float32)

    def create_dot(self, a, b, *more):
        return plain(self, numbers(a), numbers(b), *more)

    interpreter.InterpreterBuilder.create_dot = create_dot


def spread(array):
    """The same matrix with its rows, or its columns where they are stored, FAR apart in memory that nobody fills."""
    turned = array.strides[0] < array.strides[1]
    count = array.shape[1 if turned else 0]
    whole = addresses(count * FAR * array.itemsize).view(array.dtype)
    strides = (array.itemsize, FAR * array.itemsize)
    far = np.lib.stride_tricks.as_strided(whole, array.shape, strides if turned else strides[::-1])
    far[...] = array
    return far


def verdict(form, layout, rung, sizes, shape):
    """What the check says of one multiplication; rows further apart than they are long, and no operand at the start."""
    m, n, k = map(int, shape.split("x"))
    tight = Gemm(m, n, k, form, layout=layout)
    lengths = {f"ld{letter}": getattr(tight, f"ld{letter}") + 3 for letter in "abc"}
    # rows that a descriptor takes begin at multiples of 16 bytes
    wide = lengths if rung == "tensor" else {name: -(-length // 8) * 8 for name, length in lengths.items()}
    offsets = {f"{letter}_offset_bytes": place for letter, place in PLACES.items()}
    problem = Gemm(m, n, k, form, layout=layout, **wide, **offsets)
    given = operands(problem, seed=m)
    launch = tensor_launch(SIZES[sizes]) if rung == "tensor" else persistent_launch(PROGRAMS, SIZES[sizes])
    around = given.d.storage.copy()
    a, b = (spread(array) if sizes == "far" else array for array in (given.a.array, given.b.array))
    launch(Tensor(a), Tensor(b), Tensor(given.d.array))
    matrices = given.a.array, given.b.array, given.d.array
    found = check_bounds(problem, *matrices, unit_roundoff=FLOAT32_UNIT, output_rounding=ROUNDINGS[form])
    given.d.array[...] = around[-1]  # what is left must be as it was
    return {
        "ok": found.ok,
        "informative": found.informative,
        "wrong": found.wrong_elements,
        "unwritten": found.unwritten_elements,
        "outside": int((given.d.storage.view(np.uint16) != around.view(np.uint16)).sum()),
    }


if __name__ == "__main__":
    as_numbers()
    for case in sys.argv[3:]:
        print(json.dumps(verdict(*sys.argv[1:3], *case.split(":"))), flush=True)
