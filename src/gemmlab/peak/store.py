"""Plans that were measured to be faster than the model's, by request and chip: the package's, and the user's own.

A file says which chip it is of and holds an entry for each request; the user's, in the folder of caches, wins. What a
file says is taken only where it answers its request: its kernel must be one that the model could have chosen, but for
`FREE` sizes, on which no sum depends. All else, damaged, foreign or of another version, is as if it were not there.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from gemmlab.kernels.nvrtc import cache_folder
from gemmlab.peak.choosing import plan_for, plans
from gemmlab.peak.engine import Engine
from gemmlab.peak.planned import Plan
from gemmlab.peak.request import Request
from gemmlab.record import GemmlabError

SHIPPED = Path(__file__).parent / "tuned"
SWITCH = "GEMMLAB_TUNED"  #: 0 in the environment: the model alone chooses
WHAT = (
    "measured: seconds of one multiplication, medians of CUDA graphs replayed in turn over rotating operands; with"
    " pauses, or, from a millisecond on, at the power limit"
)

#: kinds of kernels, by their names in a file
KERNELS: dict[str, Any] = {kind.__name__.lower(): kind for kind in get_args(get_type_hints(Plan)["kernel"])}

#: by kind, what an entry may choose beside the model's plans, and the values that kernels hold; a vector's order of
#: sums is its threads' own, and no plan promises it
FREE: dict[str, dict[str, range | tuple[bool, ...]]] = {
    "engine": {
        "stages": range(2, 13),
        "blocks": range(1, 9),
        "lag": range(3),
        "early": (False, True),
        "direct": (False, True),
        "lean": (False, True),
        "hold": (False, True),
    },
    "tf32x3": {"stages": range(2, 13), "early": (False, True)},
    "vector": {"rows": range(1, 9), "warps": range(1, 17), "deep": range(1, 17), "early": (False, True)},
}
GROUPS_M = range(1, 65)


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """The chip that a file is of, as torch tells it."""

    name: str
    capability: str  #: 9.0
    sm_count: int

    @property
    def file(self) -> str:
        """The name of its files."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower().removeprefix("nvidia")).strip("-") + ".json"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One request's kernel, and how it is known."""

    request: Request
    kernel: dict[str, dict[str, Any]]  #: fields, under the name of their kind
    group_m: int
    measured_s: float  #: measured, as the file's `what` says
    model_s: float | None  #: of the model's own choice, replayed in turn with it; None where that one failed
    spread_s: float  #: the wider of both interquartile ranges
    date: str = ""
    versions: dict[str, str] = {}


@lru_cache(maxsize=4096)
def chosen(request: Request, device: Device) -> Plan:
    """The plan that answers a request on a chip: a measured one where there is one, else the model's.

    With GEMMLAB_TUNED=0 in the environment it is always the model's. Raises GemmlabError as `plan_for` does.
    """
    entry = entries(device).get(request) if os.environ.get(SWITCH) != "0" else None
    return (entry and plan_of(entry)) or plan_for(request)


@cache
def entries(device: Device) -> dict[Request, Entry]:
    """What both files hold for a chip, unchecked but for their form."""
    return {entry.request: entry for path in (SHIPPED / device.file, own_file(device)) for entry in read(path, device)}


def own_file(device: Device) -> Path:
    """The user's file of a chip: `gemmlab/tuned` in the user's folder of caches."""
    return cache_folder().parent / "tuned" / device.file


def read(path: Path, device: Device) -> list[Entry]:
    """The well-formed entries of a file of that chip; none of a file that is missing, damaged or of another chip."""
    try:
        held = msgspec.json.decode(path.read_bytes(), type=Held)
    except (OSError, ValueError):  # msgspec's errors are ValueErrors
        return []
    if held.device != device:
        return []
    return [entry for raw in held.entries if (entry := read_entry(raw)) is not None]


class Held(msgspec.Struct, kw_only=True):
    """A file: entries stay unread, so that a damaged one costs only itself."""

    device: Device
    entries: list[msgspec.Raw]
    what: str = WHAT


def read_entry(raw: msgspec.Raw) -> Entry | None:
    """An entry; None where it is damaged, or has a field of the request that is not known here."""
    try:
        fields = msgspec.json.decode(raw, type=dict[str, Any])
        strictly(Request, fields.get("request"))
        return msgspec.convert(fields, Entry)
    except ValueError:
        return None


def plan_of(entry: Entry) -> Plan | None:
    """The plan that an entry means; None where it is no answer to its request."""
    kernel = kernel_of(entry.kernel)
    if kernel is None or entry.group_m not in GROUPS_M:
        return None
    wanted = fixed(kernel)
    for plan in plans(entry.request):
        if fixed(plan.kernel) == wanted:
            return msgspec.structs.replace(plan, kernel=kernel, group_m=entry.group_m)
    return None


def kernel_of(said: dict[str, dict[str, Any]]) -> Any:
    """The kernel that a file tells; None for an unknown kind or field, and for sizes that no kernel holds."""
    try:
        ((kind, fields),) = said.items()
        found = strictly(KERNELS[kind], fields)
        return found if held(found) else None
    except (ValueError, KeyError, ArithmeticError):
        return None


def held(kernel: Any) -> bool:
    """Whether a kernel's free sizes are such as kernels hold."""
    if isinstance(kernel, Engine):
        on_their_way = kernel.all_blocks if kernel.store == 0 and kernel.shares == 1 else 1
        if kernel.blocks > on_their_way or (kernel.shares > 1 and kernel.lag):
            return False
    return all(getattr(kernel, name) in values for name, values in free(kernel).items())


def free(kernel: Any) -> dict[str, range | tuple[bool, ...]]:
    """A kernel's free sizes and their values."""
    return {name: values for name, values in FREE.get(kind_of(kernel), {}).items() if hasattr(kernel, name)}


def kind_of(kernel: Any) -> str:
    """The name of a kernel's kind in a file."""
    return type(kernel).__name__.lower()


def strictly(kind: Any, fields: Any) -> Any:
    """A struct of exactly the fields that it has, or those without a default; raises ValueError for others."""
    if not isinstance(fields, dict) or not fields.keys() <= set(kind.__struct_fields__):
        raise ValueError(f"no {kind.__name__}: {fields!r:.80}")
    return msgspec.convert(fields, kind)


def fixed(kernel: Any) -> tuple[Any, ...]:
    """All of a kernel that the model's plans decide."""
    sizes, own = msgspec.structs.asdict(kernel), free(kernel)
    return kind_of(kernel), {name: value for name, value in sizes.items() if name not in own}


def said_of(kernel: Any) -> dict[str, dict[str, Any]]:
    """A kernel as a file holds it."""
    return {kind_of(kernel): msgspec.structs.asdict(kernel)}


def keep(device: Device, found: Iterable[Entry], path: Path | None = None, without: Iterable[Request] = ()) -> Path:
    """Add entries to a chip's file, the user's own unless told, and take out those of the requests in `without`.

    The file is written whole or not at all; what could not be read of it is left out. Returns its path. Raises
    GemmlabError where it cannot be written.
    """
    path = path or own_file(device)
    held = {entry.request: entry for entry in read(path, device)}
    held.update((entry.request, entry) for entry in found)
    lines = [msgspec.json.encode(entry).decode() for request, entry in held.items() if request not in set(without)]
    head = msgspec.json.encode({"what": WHAT, "device": device}).decode()
    text = head[:-1] + ',"entries":[\n' + ",\n".join(lines) + "\n]}\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
            file.write(text)
        os.chmod(file.name, 0o644)  # a temporary file is its owner's alone, the package's is everybody's
        os.replace(file.name, path)
    except OSError as error:
        raise GemmlabError(
            f"{path} cannot be written: {error.strerror}", "XDG_CACHE_HOME names another folder"
        ) from error
    forget()
    return path


def forget() -> None:
    """Read the files again when they are needed next."""
    entries.cache_clear()
    chosen.cache_clear()


@cache
def device_of(torch: Any, index: int) -> Device:
    """A device as torch tells it."""
    of = torch.cuda.get_device_properties(index)
    return Device(name=of.name, capability=f"{of.major}.{of.minor}", sm_count=of.multi_processor_count)
