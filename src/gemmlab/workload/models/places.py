"""Where in the model an operator runs: its module, in the backward pass too."""

from __future__ import annotations

import contextlib
import threading
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from gemmlab.record import GemmlabError

WRAPPER = "_orig_mod"  # how torch.compile names what it wraps


class Places:
    """The module that is running, and the one that any node of the autograd graph was made in.

    Autograd numbers its nodes as they are made, so the numbers at which modules begin and end say whose a node is.
    """

    def __init__(self, model: Any) -> None:
        self.root = type(getattr(model, WRAPPER, model)).__name__
        self.names = {id(module): self.shown(name) for name, module in model.named_modules()}
        #: modules that torch.compile has compiled
        self.compiled = {self.names[id(module)] for module in model.modules() if is_compiled(module)}
        self.running: list[str] = []
        self.thread = threading.get_ident()
        self.elsewhere: list[str] = []  #: modules that ran in another thread, whose operators nobody sees
        self.starts: list[int] = []  #: of stretches of nodes that one module makes, ascending
        self.makers: list[str] = []  #: its name, for each

    def shown(self, name: str) -> str:
        """A module's path without what torch.compile puts into it; the root goes by its class."""
        return ".".join(part for part in name.split(".") if part != WRAPPER) or self.root

    @property
    def current(self) -> str:
        """The innermost module that is running; the root's where none is."""
        return self.running[-1] if self.running else self.root

    def of_node(self, number: int) -> str:
        """The module whose forward made the node of that number."""
        found = bisect_right(self.starts, number) - 1
        return self.makers[found] if found >= 0 else self.root

    def region_of(self, place: str) -> str:
        """The outermost compiled module that a place lies in; empty where none does."""
        held = [name for name in self.compiled if name in (place, self.root) or place.startswith(f"{name}.")]
        return min(held, key=len) if held else ""

    def enter(self, module: Any, _inputs: Any) -> None:
        """A module begins."""
        if threading.get_ident() != self.thread:
            self.elsewhere.append(self.names.get(id(module), self.root))
            return
        self.running.append(self.names.get(id(module), self.current))
        self.turn()

    def leave(self, _module: Any, _inputs: Any, _outputs: Any) -> None:
        """A module ends, or fails."""
        if threading.get_ident() != self.thread:
            return
        if self.running:
            self.running.pop()
        self.turn()

    def turn(self) -> None:
        """From here on nodes are made by what runs now."""
        from torch._C._autograd import _get_sequence_nr

        self.starts.append(_get_sequence_nr())
        self.makers.append(self.current)

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Follow every module that is called; raises GemmlabError at the end where one ran in another thread."""
        from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

        handles = [
            register_module_forward_pre_hook(self.enter),
            register_module_forward_hook(self.leave, always_call=True),
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
        if self.elsewhere:
            raise GemmlabError(
                f"module `{self.elsewhere[0]}` runs in a thread of its own, where no operator is seen",
                "call it in the thread of the model's forward, or profile a real step and explain its trace",
            )


def is_compiled(module: Any) -> bool:
    """Whether it is what torch.compile returns, or a module whose `compile()` was called."""
    return hasattr(module, WRAPPER) or getattr(module, "_compiled_call_impl", None) is not None
