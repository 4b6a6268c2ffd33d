"""What is said when an input cannot be used: the value, what holds, and a remedy."""

from collections.abc import Iterable


class GemmlabError(ValueError):
    """An input that cannot be used; its text names the value, and `hint` the remedy.

    The command line prints `error: <text>`, then `hint: <hint>`, and leaves with status 2.
    """

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text if not hint else f"{text}\n\nhint: {hint}")
        self.text = text  #: what was given and what holds
        self.hint = hint  #: what to do, empty when nothing can be said


def require_type(name: str, given: object, kind: type, hint: str) -> None:
    """Raise GemmlabError where an argument of that name is of no such type."""
    if not isinstance(given, kind):
        raise GemmlabError(f"{name} is {given!r:.80}, of type {type(given).__name__}, and no {kind.__name__}", hint)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> GemmlabError:
    """The error for a name that is not in a table, with the nearest names as its hint."""
    import difflib

    names = sorted(known)
    near = difflib.get_close_matches(name.lower(), names, n=4, cutoff=0.45)
    if not near:
        near = [n for n in names if n.startswith(name[:2].lower())][:4]
    hint = f"the nearest: {', '.join(near)}" if near else f"known: {', '.join(names)}"
    return GemmlabError(f"unknown {kind} `{name}`", hint)
