"""What the page may ask, as strict values: each verb's request, and the multiplication, chip and kernel in it."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gemmlab import chips, experiment, kernels
from gemmlab.chips import Chip
from gemmlab.chips.files import parse
from gemmlab.kernels import Kernel
from gemmlab.problem import Gemm
from gemmlab.problem.block_scale import BlockScale
from gemmlab.problem.columns import gemm_fields
from gemmlab.record import GemmlabError

MOST_GROUPS = 4096

Name = Annotated[str, Meta(max_length=200)]
Source = Annotated[str, Meta(max_length=200_000)]
Count = Annotated[int, Meta(ge=1, le=1 << 40)]
Sides = Annotated[tuple[Annotated[int, Meta(ge=1)], ...], Meta(min_length=1, max_length=3)]
Seed = Annotated[int, Meta(ge=0, le=2**32 - 2)]
Request = TypeVar("Request", bound="Asked")


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request; keys that it does not have are refused."""


class Problem(Asked, frozen=True, kw_only=True):
    """A multiplication, its keys those of a CSV file's columns; what is left out takes Gemm's default."""

    m: Count | UnsetType = UNSET
    n: Count | UnsetType = UNSET
    k: Count | UnsetType = UNSET
    format: Name | UnsetType = UNSET  #: of A, from which the others follow
    a_format: Name | UnsetType = UNSET
    b_format: Name | UnsetType = UNSET
    c_format: Name | UnsetType = UNSET
    d_format: Name | UnsetType = UNSET
    accumulate: Name | UnsetType = UNSET
    layout: Name | UnsetType = UNSET
    lda: int | UnsetType = UNSET
    ldb: int | UnsetType = UNSET
    ldc: int | UnsetType = UNSET
    a_offset_bytes: int | UnsetType = UNSET
    b_offset_bytes: int | UnsetType = UNSET
    c_offset_bytes: int | UnsetType = UNSET
    batch: int | UnsetType = UNSET
    groups: Annotated[tuple[tuple[int, int, int], ...], Meta(max_length=MOST_GROUPS)] | UnsetType = UNSET
    alpha: float | UnsetType = UNSET
    beta: float | UnsetType = UNSET
    epilogue: Name | UnsetType = UNSET
    scale: Name | UnsetType = UNSET
    structure: Name | UnsetType = UNSET
    lower_band: int | UnsetType = UNSET
    upper_band: int | UnsetType = UNSET

    def gemm(self) -> Gemm:
        """The multiplication; raises GemmlabError."""
        fields = gemm_fields(set_fields(self))
        if "scale" in fields:
            fields["scale"] = BlockScale.parse(fields["scale"])
        if "groups" in fields:
            if given := [side for side in "mnk" if side in fields]:
                raise GemmlabError(f"the multiplication has groups and {given[0]}", "groups, or m, n and k")
            return Gemm.grouped(fields.pop("groups"), **fields)
        if missing := [side for side in "mnk" if side not in fields]:
            raise GemmlabError(f"the multiplication has no {missing[0]}", "m, n and k are needed")
        return Gemm(**fields)


class OwnChip(Asked, frozen=True, kw_only=True):
    """A chip of one's own, as its TOML file would say it."""

    toml: Source

    def chip(self) -> Chip:
        """The chip; raises GemmlabError with the line at fault."""
        return parse(self.toml, "own.toml")


class Tiling(Asked, frozen=True, kw_only=True):
    """A kernel of the catalogue, its keys those of `explain`'s flags."""

    name: Name | UnsetType = UNSET
    tile: Name | UnsetType = UNSET
    stages: int | UnsetType = UNSET
    warps: int | UnsetType = UNSET
    registers: int | UnsetType = UNSET
    shared_bytes: int | UnsetType = UNSET
    split_k: int | UnsetType = UNSET
    raster: Name | UnsetType = UNSET
    group_m: int | UnsetType = UNSET
    cluster_m: int | UnsetType = UNSET
    cluster_n: int | UnsetType = UNSET
    persistent: bool | UnsetType = UNSET

    def kernel(self, problem: Gemm, chip: Chip) -> Kernel:
        """The kernel for a multiplication on a chip; raises GemmlabError for one that does not fit."""
        settings = set_fields(self)
        name = settings.pop("name", None) or kernels.default_for(problem).name
        return experiment.on_chip(kernels.get(name, problem=problem, **settings), problem, chip)


class Explain(Asked, frozen=True, kw_only=True):
    """`POST /api/explain`: count, limits, prediction and advice; a Record is the answer."""

    problem: Problem
    chip: Name | OwnChip = "h100-sxm"
    kernel: Tiling | None = None  #: null: the tiling predicted to be fastest
    advice: bool = True


class Launched(Asked, frozen=True, kw_only=True):
    """A kernel to be run on the CPU: a rung of the ladder or a broken twin by name, or one's own source."""

    kernel: Name = ""  #: of the ladder; of one's own source the function, where it has several kernels
    source: Source | None = None  #: a Python file's text with a kernel under @cuda.jit; needs the token

    @property
    def own(self) -> bool:
        """Code that the page sent is to be run."""
        return self.source is not None


class Emulate(Launched, frozen=True, kw_only=True):
    """`POST /api/emulate`: accesses counted, faults named, the result checked; a Record is the answer."""

    problem: Problem | None = None  #: null: any kernel, with all its arguments, grid and block
    block: Sides | None = None
    grid: Sides | None = None
    arguments: Annotated[tuple[Name, ...], Meta(max_length=64)] = ()  #: as `--arg` takes them, but no files
    outputs: Annotated[tuple[Name, ...], Meta(max_length=64)] = ()
    schedule: Name | None = None  #: as `--schedule` takes it, but no file; `worst` searches, nothing unasked does
    fill: Name = "zero"
    values: bool = True
    prove: bool = True
    seed: Seed = 0
    chip: Name | None = None


class Schedules(Launched, frozen=True, kw_only=True):
    """`POST /api/schedules`: one order of threads played access by access; a Play is the answer."""

    m: Annotated[int, Meta(ge=1, le=64)] = 16
    n: Annotated[int, Meta(ge=1, le=64)] = 16
    k: Annotated[int, Meta(ge=1, le=64)] = 16
    without: Annotated[tuple[Annotated[int, Meta(ge=0, le=63)], ...], Meta(max_length=64)] = ()
    schedule: Name = "serial"  #: as `--schedule` takes it, but no file; `worst` searches
    fill: Name = "zero"
    block: Sides | None = None  #: of one's own source; a rung has its own
    traced: tuple[int, int, int] = (0, 0, 0)  #: the block whose steps are told
    seed: Seed = 0


class Run(Asked, frozen=True, kw_only=True):
    """`POST /api/run`: real kernels timed on this machine in turn; a list of Records is the answer. Needs the token."""

    problem: Problem
    backends: Annotated[tuple[Name, ...], Meta(max_length=8)] = ()  #: none: those of the GPU where there is one
    kernels: Annotated[tuple[Name, ...], Meta(max_length=32)] = ()  #: none: all that take the formats
    rounds: Annotated[int, Meta(ge=1, le=1000)] = 9
    threads: Annotated[int, Meta(ge=0, le=4096)] = 0
    device: Annotated[int, Meta(ge=0, le=255)] | None = None
    seed: Seed = 0


def read(kind: type[Request], body: bytes) -> Request:
    """The request that JSON text holds; raises GemmlabError, in words, for what is none."""
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise GemmlabError(f"the request: {error}", f"its keys: {', '.join(kind.__struct_fields__)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise GemmlabError(f"the request is no JSON: {error}", "an object in UTF-8") from None


def set_fields(given: msgspec.Struct) -> dict[str, Any]:
    """The keys that were given."""
    fields = {name: getattr(given, name) for name in given.__struct_fields__}
    return {name: value for name, value in fields.items() if value is not UNSET}


def chip_of(given: Name | OwnChip) -> Chip:
    """A built-in chip by name, or one's own; a name is never a path. Raises GemmlabError."""
    return chips.get(given) if isinstance(given, str) else given.chip()
