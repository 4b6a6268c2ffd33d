"""Weight matrices of served models at a number of tokens, as each of several GPUs holds them."""

from __future__ import annotations

from collections.abc import Sequence

from gemmlab.problem.checks import side
from gemmlab.problem.gemm import Gemm
from gemmlab.problem.shape import Shape
from gemmlab.problem.suites.lists import load
from gemmlab.record import GemmlabError, unknown_name

TOKENS = (1, 16, 64, 128, 256, 512, 1024, 4096)


def weight_shapes(
    model: str = "llama-3-8b", tokens: int | Sequence[int] = TOKENS, tp: int = 1, format: str = ""
) -> list[Shape]:
    """The weights of a model, all of them at each number of tokens (rows of A), on one of `tp` GPUs.

    Raises GemmlabError for an unknown model, or a side that `tp` does not divide.
    """
    content = load("vllm")
    models = content["models"]
    if model not in models:
        raise unknown_name("model", str(model), models)
    parts = side("tp", tp)
    shapes = []
    for rows in [tokens] if isinstance(tokens, int) else tokens:
        for k, n, split in models[model]:
            whole = k if split == "k" else n
            if whole % parts:
                raise GemmlabError(f"tp={parts} does not divide {split}={whole} of {model}", "a power of two does")
            k_here, n_here = (k // parts, n) if split == "k" else (k, n // parts)
            problem = Gemm(side("tokens", rows), n_here, k_here, format or content["format"], layout="nt")
            shapes.append(Shape(problem, name=f"{model} {k}x{n}" + (f" / {parts}" if parts > 1 else "")))
    return shapes
