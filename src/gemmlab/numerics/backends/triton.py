"""Tensor cores through Triton: a GEMM whose tile and warps make the compiler take the instruction that is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab.numerics import sass
from gemmlab.numerics.backends import device
from gemmlab.numerics.operands import typed
from gemmlab.record import GemmlabError, unknown_name

#: way -> (block_m, block_n, warps): what Triton 3.6 and 3.8 take that instruction for, wherever an architecture has it
TILES = {"wgmma": (128, 64, 4), "tcgen05": (128, 64, 4), "mma": (32, 64, 4)}
WAYS = {"sm_90": "wgmma", "sm_100": "tcgen05"}
MODES = {"outside": "summed", "chained": "masked"}  #: of a truncation sweep -> how the kernel is spelled
ACTIONS = ("mask", "round")
SHARED_BYTES = 96_000  #: of tiles in flight, which every architecture has


class Triton:
    """A tensor core as a callable `mma(a, b, c)`, C loaded into the accumulator.

    After a call `compiled` tells the machine code that ran and the unit that it is. Raises GemmlabError without triton,
    torch or a GPU, and for what no instruction multiplies.
    """

    def __init__(
        self,
        a_format: str,
        *,
        b_format: str | None = None,
        accumulate: str | None = None,
        instruction: str | None = None,
        block_k: int | None = None,
        imprecise: int | None = None,
        spelling: str = "chained",
        stages: int = 3,
    ) -> None:
        self.a_format, self.b_format = a_format, b_format or a_format
        self.accumulate = accumulate or ("int32" if a_format == "int8" else "float32")
        sass.check(self.a_format, self.b_format, self.accumulate, spelling)
        self.torch = device.torch_here(gpu=not device.interpreting())
        sass.needs_triton()
        self.architecture = device.architecture()
        self.instruction = instruction or WAYS.get(self.architecture, "mma")
        if self.instruction not in TILES:
            raise unknown_name("instruction", self.instruction, TILES)
        self.block_k = block_k or (32 if a_format == "tfloat32" else 64)
        self.imprecise, self.spelling, self.stages = imprecise, spelling, stages
        self.compiled: sass.Compiled | None = None  #: of the last call

    def __call__(self, a: Any, b: Any, c: Any = None) -> npt.NDArray[Any]:
        """D = A @ B + C of shapes (m, k), (k, n), (m, n), in the accumulator's own type; zeros fill up whole tiles."""
        return self.launch(a, b, c, self.spelling, 0, -1)

    def swept(
        self, a: Any, b: Any, bits: int, *, block_k: int | None = None, mode: str = "outside", action: str = "mask"
    ) -> npt.NDArray[np.float32]:
        """A @ B where the last `bits` bits of what each block_k's dot gives are cleared, in the kernel.

        `outside` starts every dot from zero and adds outside in float32, `chained` clears the accumulator itself.
        `round` adds half of the last kept bit first, as the published kernel does. Raises GemmlabError for an
        accumulator that is not float32.
        """
        for what, given, known in (("mode", mode, tuple(MODES)), ("action", action, ACTIONS)):
            if given not in known:
                raise unknown_name(what, given, known)
        if not 0 <= bits <= 23:
            raise GemmlabError(f"bits = {bits}", "from 0 to 23: the fraction of a float32")
        sass.check(self.a_format, self.b_format, self.accumulate, MODES[mode])
        half = 1 << (bits - 1) if action == "round" and bits else 0
        return self.launch(a, b, None, MODES[mode], half, -(1 << bits), block_k)

    def launch(
        self, a: Any, b: Any, c: Any, spelling: str, half: int, low: int, block_k: int | None = None
    ) -> npt.NDArray[Any]:
        """One launch of the kernel; sets `compiled`."""
        from triton import language

        from gemmlab.numerics.backends import kernels

        block_m, block_n, warps = TILES[self.instruction]
        block_k = block_k or self.block_k
        if block_k < 16 or block_k & (block_k - 1):
            raise GemmlabError(f"block_k = {block_k}", "a power of two from 16, from 32 for 8-bit formats")
        asked = device.problem(a, b, c, self.a_format, self.b_format, self.accumulate)
        whole = device.padded(asked, block_m, block_n, block_k)
        m, n, k = whole.shape
        fit = SHARED_BYTES // ((block_m + block_n) * block_k * whole.a.itemsize)
        d = device.poisoned((m, n), self.accumulate)
        ran = kernels.gemm[m // block_m, n // block_n](
            device.upload(whole.a, self.a_format), device.upload(whole.b, self.b_format),
            device.upload(whole.c, self.accumulate), d, n, k, half, low,
            BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, SPELLING=spelling, IMPRECISE=self.imprecise,
            ACCUMULATE=getattr(language, self.accumulate), num_warps=warps, num_stages=max(1, min(self.stages, fit)),
        )  # fmt: skip
        self.compiled = None if device.interpreting() else self.judged(ran)
        return typed(device.download(d)[: asked.shape[0], : asked.shape[1]], self.accumulate)

    def judged(self, ran: Any) -> sass.Compiled:
        """What the kernel that ran is; once for each, since disassembling takes longer than running."""
        known = self.__dict__.setdefault("known", {})
        if ran.hash not in known:
            from triton import __version__

            known[ran.hash] = sass.judged(
                "gemm", self.architecture, __version__, ran.asm["ptx"], sass.disassembled(ran.asm["cubin"]),
                self.a_format, self.b_format,
            )  # fmt: skip
        found: sass.Compiled = known[ran.hash]
        return found
