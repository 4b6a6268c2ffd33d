"""A unit as the TOML file that `--unit FILE.toml` takes: the way to a unit of one's own is to change a known one."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any

from gemmlab.numerics.behaviour import Unit

LEFT_OUT = ("silicon", "assumed")  #: what was checked of a unit is not checked of one that was changed
HEX = ("nan_code",)


def as_toml(unit: Unit) -> str:
    """Every field with its meaning behind it; those without a value are commented out."""
    meaning = meanings()
    name = "".join(c if c.isprintable() else "?" for c in unit.name)
    lines = [f"# From {name}. Fields left out take the values of gemmlab.numerics.Unit.", ""]
    for name in Unit.__struct_fields__:
        if name in LEFT_OUT:
            continue
        value = getattr(unit, name)
        said = f"  # {meaning[name]}" if meaning.get(name) else ""
        if value is None:
            lines.append(f"# {name} ={said}")
        else:
            lines.append(f"{name} = {written(name, value)}{said}")
    return "\n".join(lines) + "\n"


def written(name: str, value: Any) -> str:
    """A value as TOML writes it."""
    if name in HEX:
        return f"{value:#x}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(text, value))}]"
    return text(value)


def text(value: Any) -> str:
    """A text, number or truth as TOML has it: JSON's, but for the one control character that JSON leaves as it is."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def meanings() -> dict[str, str]:
    """What each field means, from the comments beside them; empty where the source is not there."""
    try:
        text = inspect.getsource(Unit)
    except OSError:
        return {}
    return dict(re.findall(r"^    (\w+): .+?#: (.*)$", text, re.MULTILINE))
