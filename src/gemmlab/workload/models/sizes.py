"""The numbers of a model's configuration, by which whoever made it calls its sizes."""

from __future__ import annotations

from typing import Any

OPEN = {"n_inner": ("n_embd", 4)}  #: what transformers' GPT-2 takes where the configuration leaves it at None


def sizes_of(model: Any) -> tuple[tuple[str, int], ...]:
    """Names and whole numbers of the configurations that the model and its modules carry, each once."""
    configurations = {id(found): found for module in model.modules() if (found := getattr(module, "config", None))}
    pairs = [pair for each in configurations.values() for pair in numbers_of(each)]
    return tuple(dict.fromkeys(pairs))


def numbers_of(configuration: Any) -> list[tuple[str, int]]:
    """Names and whole numbers of one configuration, those of its parts too."""
    held = configuration if isinstance(configuration, dict) else getattr(configuration, "__dict__", {})
    found = []
    for name, value in held.items():
        if isinstance(value, int) and not isinstance(value, bool) and not str(name).startswith("_"):
            found.append((str(name), value))
        elif str(name).endswith("_config") and value is not None:
            found += numbers_of(value)
        elif value is None and name in OPEN and isinstance(held.get(OPEN[name][0]), int):
            found.append((str(name), held[OPEN[name][0]] * OPEN[name][1]))
    return found
