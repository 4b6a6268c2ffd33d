"""What this machine's processor has that the vector kernel asks for."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple


class Machine(NamedTuple):
    """The processor that numba compiles for, as its environment variables say where they are set."""

    lanes: int  #: columns of a block of the vector kernel: 16 with AVX-512, else 8
    halves: bool  #: converts float16 in registers; LLVM would call a library that is not there


@cache
def machine() -> Machine:
    """The machine at hand, asked once."""
    from llvmlite import binding
    from numba.core import config

    asked = getattr(config, "CPU_FEATURES", None)
    if asked is not None:
        features = {word[1:]: word[0] == "+" for word in asked.split(",") if word}
    else:
        features = dict(binding.get_host_cpu_features())
    if not binding.get_process_triple().startswith(("x86_64", "i686")):
        return Machine(8, binding.get_process_triple().startswith(("aarch64", "arm64")))
    wide = all(features.get(name) for name in ("avx512f", "avx512bw", "avx512dq", "avx512vl"))
    return Machine(16 if wide else 8, bool(features.get("f16c")))
