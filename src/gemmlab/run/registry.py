"""The contenders there are, out of every backend's own table, by backend and name."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module

from gemmlab.record import GemmlabError, unknown_name
from gemmlab.run.contender import BACKENDS, Contender, kernel_name
from gemmlab.run.fault import encodable

OWN = {".py": "FILE.py:FUNC", ".wgsl": "FILE.wgsl:ENTRY"}  #: what names a kernel of one's own, by its file's ending
HERE = os.path.join(os.path.dirname(__file__), "backends")


@cache
def backends() -> tuple[str, ...]:
    """The backends that have contenders, in the order of BACKENDS."""
    return tuple(name for name in BACKENDS if os.path.isfile(os.path.join(HERE, name, "contenders.py")))


@cache
def contenders_of(backend: str) -> tuple[Contender, ...]:
    """A backend's contenders from the bottom of the ladder to the vendor's; raises GemmlabError for an unknown one."""
    if backend not in backends():
        raise unknown_name("backend", backend, backends())
    found: tuple[Contender, ...] = import_module(f"gemmlab.run.backends.{backend}.contenders").CONTENDERS
    return found


def contenders(names: Sequence[str], chosen: Iterable[str], formats: tuple[str, str] | None = None) -> list[Contender]:
    """The contenders of the chosen backends by name; without names, all that take these formats of A and B.

    A name may say its backend: `cpu:numpy`. Raises GemmlabError for an unknown name, with the nearest ones, and where
    no contender takes the formats.
    """
    known = [each for backend in chosen for each in contenders_of(backend)]
    if names:
        return told_apart([each for name in names for each in named(name, known, tuple(chosen))])
    found = [each for each in known if formats is None or set(formats) <= set(each.formats)]
    if not found:
        takes = sorted({name for each in known for name in each.formats})
        raise GemmlabError(
            f"no kernel of {', '.join(chosen)} takes {' x '.join(dict.fromkeys(formats or ()))}",
            f"--format {', '.join(takes)}",
        )
    return found


def told_apart(found: Iterable[Contender]) -> list[Contender]:
    """Each once; kernels of one's own that are called as another are named with their file; raises GemmlabError."""
    from msgspec.structs import replace

    once = list({(each.backend, each.name, each.source): each for each in found}.values())
    for name in (lambda each: each.name, kernel_name):
        times = Counter((each.backend, name(each)) for each in once)
        twice = [each for each in once if times[each.backend, name(each)] > 1]
        once = [replace(each, name=kernel_name(each)) if each in twice else each for each in once]
    if twice:
        raise GemmlabError(f"two kernels are called {twice[0].name}", "give one of the files another name")
    return once


def named(word: str, known: Sequence[Contender], chosen: Sequence[str]) -> list[Contender]:
    """Those that a word names; one's own kernel by FILE.py:FUNC or FILE.wgsl:ENTRY; raises GemmlabError."""
    if any(ending in word for ending in OWN):
        return [own(word, chosen)]
    backend, colon, name = word.rpartition(":")
    known = list(contenders_of(backend)) if colon else known
    found = [each for each in known if each.name == name]
    if not found:
        raise unknown_name("kernel", name, {each.name for each in known})
    return found


def own(word: str, chosen: Sequence[str]) -> Contender:
    """One's own kernel, as OWN names it, run as the chosen backend's OWN says; raises GemmlabError."""
    file, _, function = word.rpartition(":")
    ending = os.path.splitext(file)[1]
    if ending not in OWN or not function:
        raise GemmlabError(f"kernel `{word}` names no function", " or ".join(OWN.values()))
    if not os.path.isfile(file):
        raise GemmlabError(f"no file `{file}`", OWN[ending])
    if (path := os.path.abspath(file)) != encodable(path):  # it could not be kept with what came of it
        raise GemmlabError(f"the name `{path}` is no UTF-8", "rename the file, or its folder")
    templates = {backend: own_template(backend) for backend in backends()}
    taking = [backend for backend, made in templates.items() if made and made.source.endswith(OWN[ending])]
    for backend in chosen:
        if backend in taking and (made := templates[backend]):
            return own_of(made, OWN[ending], f"{path}:{function}")
    raise GemmlabError(f"{ending} files do not run on {', '.join(chosen)}", f"--backend {', '.join(taking)}")


def own_template(backend: str) -> Contender | None:
    """What a backend makes of kernels of one's own; None where it takes none."""
    found: Contender | None = getattr(import_module(f"gemmlab.run.backends.{backend}.contenders"), "OWN", None)
    return found


def own_of(template: Contender, named: str, place: str) -> Contender:
    """The backend's template for kernels of one's own, with the place of this one."""
    import msgspec

    source = template.source.replace(named, place)
    return msgspec.structs.replace(template, name=place.rpartition(":")[2], source=source)
