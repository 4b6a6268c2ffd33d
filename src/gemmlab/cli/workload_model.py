"""A PyTorch model of the command line: built without weights, set as the flags say, and traced once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gemmlab.record import GemmlabError, unknown_name

if TYPE_CHECKING:
    from gemmlab.workload import Workload

PRECISIONS = ("highest", "high", "medium")
OPTIONS = ("autocast", "optimizer")


def model_workload(word: str, given: dict[str, Any]) -> Workload:
    """The workload of one step of the model that a word names; raises GemmlabError."""
    precision = given.get("matmul_precision", "highest")
    if precision not in PRECISIONS:
        raise unknown_name("precision", precision, PRECISIONS)
    from gemmlab.workload.models import load_model, trace_model

    loaded = load_model(
        word,
        " ".join(given.get("inputs", ())),
        arguments=dict(given.get("arguments", ())),
        config=given.get("config", ""),
        dtype=given.get("dtype", ""),
    )
    import torch

    inputs, keywords, model = loaded.inputs, loaded.keywords, loaded.model
    if "channels_last" in given:
        model, inputs, keywords = channels_last(word, model, inputs, keywords)
    if "compile" in given:
        model = torch.compile(model)
    options = {name: given[name] for name in OPTIONS if name in given}
    with matmul_precision(precision if "matmul_precision" in given else ""):
        try:
            return trace_model(model, inputs, keywords, training="inference" not in given, source=word, **options)
        except GemmlabError as error:
            raise GemmlabError(error.text, error.hint.replace("training=False", "--inference")) from error


def channels_last(
    word: str, model: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The model, and the images that it is called with, with their channels running fastest; raises GemmlabError."""
    import torch

    def turned(value: Any) -> Any:
        image = isinstance(value, torch.Tensor) and value.dim() == 4
        return value.to(memory_format=torch.channels_last) if image else value

    try:
        model = model.to(memory_format=torch.channels_last)
    except (RuntimeError, NotImplementedError, AttributeError) as error:
        text = str(error).partition("\n")[0]
        raise GemmlabError(f"{word} cannot be channels-last: {text}", "leave --channels-last out") from error
    return model, tuple(turned(value) for value in inputs), {name: turned(value) for name, value in keywords.items()}


@contextlib.contextmanager
def matmul_precision(name: str) -> Iterator[None]:
    """What torch.set_float32_matmul_precision allows meanwhile; as it is where no name is given."""
    import torch

    if not name:
        yield
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(name)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
