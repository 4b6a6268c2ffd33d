"""The lab in a notebook: the page in a cell, at an address that both sides can change; a still picture elsewhere.

>>> from gemmlab.lab.widget import address
>>> address("bench", m=8192, n=8192, k=8192, chip="a100-pcie-80gb")
'#/bench?m=8192&n=8192&k=8192&chip=a100-pcie-80gb'
"""

from __future__ import annotations

import functools
from html import escape
from typing import Any
from urllib.parse import parse_qs, urlencode

from gemmlab.lab.place import NOT_BUILT, STATIC
from gemmlab.record import GemmlabError, unknown_name

#: sections of the page, in the order of its navigation
SECTIONS = ("film", "bench", "schedules", "systolic", "precision", "chips")
SCRIPT = STATIC / "gemmlab-widget.js"
LOWEST = 120  #: pixels of a cell


def lab(section: str = "film", *, height: int = 720, **state: object) -> Any:
    """The page at a section, `height` pixels tall, set to `state`: the parameters of its address (`m`, `chip`, `lang`).

    Without anywidget (extra `lab`) it is a still picture. A value that the section does not have is told on the page.
    Raises GemmlabError for a section that does not exist, a height of less than 120, or where the page is not built.
    """
    hash_ = address(section, **state)
    if not isinstance(height, int) or height < LOWEST:
        raise GemmlabError(f"height is {height!r:.40}", f"whole pixels, at least {LOWEST}")
    try:
        kind = widget_class()
    except ImportError:
        return Still(hash_)
    return kind(hash=hash_, height=height)


def address(section: str, **state: object) -> str:
    """The address within the page of a section that is set so; yes and no as True and False, lists as lists.

    None is what holds at first, and left out. Raises GemmlabError for a section that does not exist.
    """
    if section not in SECTIONS:
        raise unknown_name("section", str(section), SECTIONS)
    given = {name: written(value) for name, value in state.items() if value is not None}
    query = urlencode(given, errors="replace")
    return f"#/{section}?{query}" if query else f"#/{section}"


def written(value: object) -> str:
    """A value as addresses have it."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, list | tuple):
        return "_".join(map(written, value))
    return str(value)


@functools.cache
def widget_class() -> Any:
    """The widget; raises ImportError without anywidget, and GemmlabError where its script is not built."""
    import anywidget
    import traitlets

    if not SCRIPT.is_file():
        raise GemmlabError(*NOT_BUILT.split(": ", 1))

    class Lab(anywidget.AnyWidget):  # type: ignore[misc,unused-ignore]
        """The page; `hash` is its address, and follows what the reader sets."""

        _esm = SCRIPT.read_text(encoding="utf-8")
        hash = traitlets.Unicode("#/film").tag(sync=True)
        height = traitlets.Int(720, min=LOWEST).tag(sync=True)

        def _repr_mimebundle_(self, **given: Any) -> Any:
            found = super()._repr_mimebundle_(**given)
            still = {"text/html": Still(self.hash)._repr_html_(), "text/plain": f"gemmlab lab {self.hash}"}
            if isinstance(found, tuple):
                return ({**found[0], **still}, *found[1:])
            return {**(found or {}), **still}

    return Lab


class Still:
    """What stands for the page where no widget runs: the rooflines of its multiplication as SVG, and how to open it."""

    def __init__(self, hash_: str) -> None:
        self.hash = hash_

    def __repr__(self) -> str:
        return f"gemmlab lab {self.hash}"

    def _repr_html_(self) -> str:
        return (
            f"{self.picture()}<p>A still: the page needs a running notebook with anywidget, "
            f"or <code>gemmlab lab</code> and the address <code>{escape(self.hash)}</code></p>"
        )

    def picture(self) -> str:
        """The rooflines of the multiplication in the address; a sentence where it cannot be told."""
        from gemmlab import chips
        from gemmlab.experiment import explain
        from gemmlab.problem import Gemm
        from gemmlab.problem.columns import number
        from gemmlab.report import roofline_svg

        given = {name: values[-1] for name, values in parse_qs(self.hash.partition("?")[2]).items()}
        try:
            m, n, k = (number(given.get(side, "1024")[:40]) for side in "mnk")
            problem = Gemm(m, n, k, given.get("format", "float32"))
            # by name: an address comes from the page, and must not open files
            chip = chips.get(given.get("chip", "h100-sxm"))
            return roofline_svg(explain(problem, chip, given.get("kernel")))
        except GemmlabError as error:
            return f"<p>{escape(str(error))}</p>"
