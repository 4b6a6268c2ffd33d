"""How numba compiles generated kernels: by the passes they need, in a fraction of the time that all of them take.

Generated code holds no closures, no array expressions, no constants to propagate and no names of two types, so that
what numba does about those, single assignment form among it, changes nothing.
"""

from __future__ import annotations

from typing import Any

from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
)
from numba.core.untyped_passes import FixupArgs, IRProcessing, TranslateByteCode

manager: Any = PassManager
PASSES = (
    (TranslateByteCode, "bytecode"),
    (FixupArgs, "arguments"),
    (IRProcessing, "names"),
    (NopythonTypeInference, "types"),
    (IRLegalization, "legal"),
    (AnnotateTypes, "annotate"),
    (NativeLowering, "lower"),
    (NoPythonBackend, "finish"),
)


class Plainly(CompilerBase):
    """A compiler with those passes alone."""

    def define_pipelines(self) -> list[Any]:
        """The one pipeline."""
        passes: Any = manager("generated")
        for kind, why in PASSES:
            passes.add_pass(kind, why)
        passes.finalize()
        return [passes]
