"""Results as files: JSON with a row on a line, so that what changed between two runs can be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def text_of(content: Any, indent: str = "") -> str:
    """JSON: what the whole holds on a line each, and so lists of rows, also where they are held by name."""
    inner = indent + " "
    if isinstance(content, dict) and (not indent or all(isinstance(each, list) for each in content.values())):
        lines = [f"{inner}{json.dumps(name)}: {text_of(value, inner)}" for name, value in content.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(content, list) and content and all(isinstance(each, dict) for each in content):
        return "[\n" + ",\n".join(f"{inner}{json.dumps(each)}" for each in content) + f"\n{indent}]"
    return json.dumps(content)


def kept(path: Path, content: dict[str, Any]) -> None:
    """Write results whole, in a folder that is made where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(text_of(content) + "\n")
    fresh.replace(path)
