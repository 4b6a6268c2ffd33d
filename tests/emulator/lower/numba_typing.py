"""Types of a kernel's variables as numba itself finds them for CUDA; it needs no GPU."""

from unittest import mock

import numpy as np


class _Device:
    compute_capability = (8, 0)


def types_by_numba(kernel, *values):
    """For each variable of the source, the types of all its versions."""
    from numba import types
    from numba.cuda.compiler import compile_cuda
    from numba.np.numpy_support import from_dtype

    given = [
        types.Array(from_dtype(value.dtype), value.ndim, "C")
        if isinstance(value, np.ndarray)
        else from_dtype(np.asarray(value).dtype)
        for value in values
    ]
    with mock.patch("numba.cuda.dispatcher.get_current_device", return_value=_Device):
        compiled = compile_cuda(kernel.py_func, types.void, tuple(given), cc=(8, 0))
    found = {}
    for name, kind in compiled.type_annotation.typemap.items():
        if not name.startswith(("$", "arg.")):
            found.setdefault(name.split(".")[0], set()).add(str(types.unliteral(kind)))
    return found


def types_here(program):
    """The same of a lowered program: only what is read keeps a variable, so these may be fewer."""
    found = {}
    for name, kind in program.variables.items():
        base, _, rest = name.partition(".")
        if not name.startswith("$") and (rest.isdigit() or not rest):
            found.setdefault(base, set()).add(kind)
    return found
