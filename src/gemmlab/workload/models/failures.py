"""What stopped a step that was traced, told by operator, module and line of the program."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from gemmlab.record import GemmlabError

WITH_ELEMENTS = (
    "give that input as whole numbers (a tensor, or `attention_mask=8x512:int64=1` as text), or profile a real step "
    "and explain its trace"
)
ROUTED = (
    "data say which rows an expert gets: torch.nn.functional.grouped_mm (PyTorch 2.10 with transformers 5 uses it) is "
    "traced as if all got alike; else profile a real step and explain its trace"
)
#: what PyTorch says where a tensor's elements are asked for and there are none
NO_ELEMENTS = (
    "out of meta tensor",
    "on meta tensor",
    "Tensor.item() cannot be called",
    "with no data",
    "data-dependent",
    "meta device type tensor to numpy",
    "unallocated storage",
)
NO_GPU = (
    "not compiled with CUDA",
    "no NVIDIA driver",
    "No CUDA GPUs",
    "not linked with support for cuda",
    "requires CUDA support",
    "CUDA error",
)
LARGEST_TEXT = 400


class DataDependentError(Exception):
    """An operator whose result's shape, or whose Python value, only elements say; its text is the operator's name."""


class MissingKernelError(Exception):
    """An operator that says nothing of its result's shape; its text is the operator's name."""


def failure(error: BaseException, source: str, place: str) -> GemmlabError:
    """The error to raise for a step that stopped there."""
    at = f"{source}, module `{place}`{line_of(error)}"
    text = str(error).strip()
    if isinstance(error, DataDependentError):
        return GemmlabError(
            f"{at}: {text} needs the elements of a tensor, and a traced model has none: what follows depends on data",
            ROUTED if "expert" in place.lower() or "moe" in place.lower() else WITH_ELEMENTS,
        )
    if isinstance(error, MissingKernelError) or is_missing(error):
        return missing(error, at)
    if any(words in text for words in NO_ELEMENTS):
        return GemmlabError(
            f"{at}: the elements of a tensor are asked for, and a traced model has none ({shortened(text)})",
            WITH_ELEMENTS,
        )
    if any(words in text for words in NO_GPU):
        return GemmlabError(
            f"{at}: the model asks for a GPU itself ({shortened(text)})",
            "put that line under `if torch.cuda.is_available():`, or profile a real step and explain its trace",
        )
    return GemmlabError(f"{at}: {type(error).__name__}: {shortened(text)}", "does the same call run in PyTorch?")


def missing(error: BaseException, at: str) -> GemmlabError:
    """An operator of which nobody says the shape of its result."""
    text = str(error)
    operator = text if isinstance(error, MissingKernelError) else operator_in(text)
    if operator.startswith("aten::") or "::" not in operator:
        return GemmlabError(
            f"{at}: {operator} has no rule of shapes in this PyTorch",
            "a newer PyTorch may have one; or profile a real step and explain its trace",
        )
    return GemmlabError(
        f"{at}: the custom operator {operator} does not say its result's shape",
        f'`from torch import library; library.register_fake("{operator}")` registers a function that returns an empty '
        "tensor of that shape",
    )


def is_missing(error: BaseException) -> bool:
    """Whether PyTorch complains of an operator without a kernel for tensors without elements."""
    text = str(error)
    return isinstance(error, NotImplementedError | RuntimeError) and (
        ("Meta" in text and "Could not run" in text)
        or "no rule registered for HigherOrderOperator" in text
        or "no fake impl" in text
        or "abstract impl" in text
    )


def operator_in(text: str) -> str:
    """The operator's name in PyTorch's complaint."""
    words = text.split()
    if "HigherOrderOperator" in words[:-1]:
        return words[words.index("HigherOrderOperator") + 1]
    found = [word.strip("'`\".,:()") for word in text.replace("\n", " ").split() if "::" in word]
    return found[0] if found else "it calls"


def line_of(error: BaseException) -> str:
    """` (FILE:LINE)` of the program's innermost frame; empty where only PyTorch and gemmlab ran."""
    found = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if not is_machinery(frame.filename):
            found = f" ({Path(frame.filename).name}:{frame.lineno})"
    return found


def is_machinery(file: str) -> bool:
    """Whether a file is PyTorch's or this package's."""
    import torch

    homes = (Path(torch.__file__).parent, Path(__file__).parents[2])
    return file.startswith("<") or any(home in Path(file).parents for home in homes)


def place_of(error: BaseException, names: dict[int, str], default: str) -> str:
    """The innermost module whose code an error passed through."""
    found, step = default, error.__traceback__
    while step is not None:
        owner: Any = step.tb_frame.f_locals.get("self")
        found = names.get(id(owner), found)
        step = step.tb_next
    return found


def shortened(text: str) -> str:
    """The first lines of what somebody else says."""
    line = " ".join(text.split())
    return line if len(line) <= LARGEST_TEXT else f"{line[:LARGEST_TEXT]}..."
