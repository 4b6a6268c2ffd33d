"""A chip as numbers that carry their source."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Figure(float):
    """A number with where it comes from; it computes like any float."""

    source: str  #: vendor document, paper, or measurement
    sure: bool  #: False where sources contradict or nobody could check
    note: str  #: contradictions in public figures, said out loud

    def __new__(cls, value: float, source: str = "", sure: bool = True, note: str = "") -> Figure:
        """A figure; the value is in the SI unit its field names."""
        figure = super().__new__(cls, value)
        figure.source, figure.sure, figure.note = source, sure, note
        return figure


LevelName = Literal["dram", "l2", "shared", "register"]


class Level(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One level of memory: dram, l2, shared or register, the whole chip together."""

    name: LevelName
    bandwidth_bytes_per_s: Figure
    capacity_bytes: Figure


class Peak(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Dense arithmetic in one format, and the three numbers that must multiply to it."""

    flop_per_s: Figure  #: the published peak, dense
    flop_per_clock_per_sm: Figure
    clock_hz: Figure | None = None  #: where this unit is rated at another clock than the chip
    unit: Literal["tensor", "vector"] = "tensor"  #: `tensor` (a matrix unit) or `vector` (ordinary FMA lanes)
    instruction: tuple[int, int, int] | None = None  #: m, n, k of one matrix instruction


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What bounds the programs resident on one SM."""

    registers_per_sm: Figure
    registers_per_thread: Figure
    shared_bytes_per_sm: Figure
    shared_bytes_per_program: Figure
    warps_per_sm: Figure
    programs_per_sm: Figure
    threads_per_program: Figure
    warp_size: int = 32


class Calibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Constants read off a real chip; they overlay what a data sheet can say."""

    constants: dict[str, Figure]
    validated: bool
    source: str


class Chip(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One chip. `figures()` lists every number with its source."""

    name: str
    full_name: str
    vendor: str
    architecture: str  #: volta turing ampere ada hopper blackwell cdna2 cdna3 tpu cpu apple
    kind: Literal["gpu", "tpu", "cpu"]
    year: int
    sm_count: Figure  #: SMs, compute units, matrix units or cores
    clock_hz: Figure
    levels: tuple[Level, ...]
    peaks: dict[str, Peak]
    limits: Limits | None = None
    power_w: Figure | None = None
    energy: dict[str, Figure] = {}  #: joules: `dram_per_byte`, `l2_per_byte`, `shared_per_byte`, `flop.<format>`
    sparse_factor: Figure | None = None  #: how much 2:4 structure multiplies the dense peak by
    features: tuple[str, ...] = ()  #: tma, clusters, wgmma, tensor_memory, async_copy
    calibration: Calibration | None = None
    notes: tuple[str, ...] = ()
    reported_as: tuple[str, ...] = ()  #: names by which a driver reports it

    def level(self, name: str) -> Level | None:
        """The level of that name, or None where the chip has none."""
        return next((level for level in self.levels if level.name == name), None)

    def peak_flop_per_s(self, name: str) -> float | None:
        """Dense peak in that format, or None where the chip does not compute in it."""
        peak = self.peaks.get(name)
        return float(peak.flop_per_s) if peak else None


#: what a figure's table may hold, and the type of each
FIGURE_FIELDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "value": ((int, float), "a number"),
    "source": (str, "text"),
    "sure": (bool, "true or false"),
    "note": (str, "text"),
}


def decode_figure(kind: type, value: Any) -> Any:
    """What a file may write for a figure: a bare number, or {value, source, sure, note}."""
    if kind is not Figure:
        raise NotImplementedError(kind)  # how a msgspec dec_hook says that a type is not its business
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in FIGURE_FIELDS:
                raise ValueError(f"a figure has no `{key}`, only {', '.join(FIGURE_FIELDS)}")
            expected, words = FIGURE_FIELDS[key]
            if not isinstance(item, expected) or (key == "value" and isinstance(item, bool)):
                raise ValueError(f"`{key}` of a figure is {words}, got {item!r}")
        if "value" not in value:
            raise ValueError("a figure without `value`")
        return Figure(**value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Figure(float(value))
    raise ValueError(f"Expected a number or {{ value, source, sure, note }}, got {value!r}")
