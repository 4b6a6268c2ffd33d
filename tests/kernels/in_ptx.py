"""The numba.cuda rungs as numba-cuda compiles them: `python -m kernels.in_ptx`, their PTX by name as one line of JSON.

numba-cuda's folder stands in PYTHONPATH. It takes the place of numba.cuda in a process, so this is one of its own.
"""

import json

import _numba_cuda_redirector  # noqa: F401 - what a .pth file imports where numba-cuda is installed as usual
import numpy as np

if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack  # numba-cuda asks for it; NumPy 2.5 has it no more

from numba import cuda, float32

from gemmlab.kernels.ladder import RUNGS, load

MATRIX = float32[:, ::1]

if __name__ == "__main__":
    assert "numba_cuda" in cuda.__file__
    made = {
        name: cuda.compile_ptx(load(rung.source).py_func, (MATRIX,) * 3, cc=(9, 0))[0] for name, rung in RUNGS.items()
    }
    print(json.dumps(made))
