"""A lesson as a page to read and as a summary for the terminal."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gemmlab.report.lesson.page import lesson_html
    from gemmlab.report.lesson.sheet import lesson_svg
    from gemmlab.report.lesson.text import lesson_text

__all__ = ["lesson_html", "lesson_svg", "lesson_text"]

HOMES = {"lesson_html": "page", "lesson_svg": "sheet", "lesson_text": "text"}


def __getattr__(name: str) -> Any:
    """Loaded when asked for: the summary needs no page."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
