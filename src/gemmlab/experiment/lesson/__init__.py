"""One multiplication told whole: counted, emulated, broken, timed here, and one output followed bit by bit."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gemmlab.experiment.lesson.teaching import Lesson, Settings, teach

__all__ = ["Lesson", "Settings", "teach"]


def __getattr__(name: str) -> Any:
    """Loaded when asked for: it brings the emulator and what times kernels."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gemmlab.experiment.lesson import teaching

    return getattr(teaching, name)
