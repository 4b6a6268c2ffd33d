"""A function of one's own, FILE.py:FUNC, found and looked at before anything is launched."""

from __future__ import annotations

import inspect
import os
from typing import Any

from gemmlab.record import GemmlabError
from gemmlab.run.imported import attribute, module_of

ARGUMENTS = 3  # two operands and the result


def function_at(place: str) -> Any:
    """What `FILE.py:FUNC` names; raises GemmlabError where there is no such file or function."""
    path, _, name = place.rpartition(":")
    return attribute(module_of(os.path.abspath(path)), name, path)


def require_arguments(function: Any, place: str, called: str) -> None:
    """Raise GemmlabError where a function cannot be `called` with two operands and a result, as `FUNC(a, b, d)`."""
    path, _, name = place.rpartition(":")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C: nobody knows before it is called
        return
    try:
        signature.bind(*range(ARGUMENTS))
    except TypeError:
        raise GemmlabError(
            f"`{name}` of {os.path.basename(path)} takes {signature}, and is called with {ARGUMENTS} arguments", called
        ) from None
