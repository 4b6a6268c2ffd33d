"""A chip file that starts from a built-in one: `base = "h100-sxm"`, then only what differs."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

Tree = dict[str, Any]


def derive(base: Tree, changes: Tree, name: str) -> Tree:
    """The tree of a chip that is `base` but for `changes`.

    Tables are merged key by key and levels by name. What follows from the SM count or a clock and is not given
    itself (peaks, shared memory, registers) is scaled with them. A derived chip keeps the base's calibration but not
    its validation.
    """
    merged: Tree = merge(deepcopy(base), changes)
    merged["name"] = changes.get("name", name)
    merged["reported_as"] = changes.get("reported_as", [])
    scale_peaks(merged, base, changes)
    scale_levels(merged, base, changes)
    if merged.get("calibration") and "calibration" not in changes:
        merged["calibration"] = {**merged["calibration"], "validated": False}
    return merged


def merge(old: Any, new: Any) -> Any:
    """Tables merged key by key, arrays of named tables by name, a bare number into a figure; all else replaced."""
    if isinstance(old, dict) and isinstance(new, dict):
        if "value" in old and "value" in new:
            return new  # a figure: the old one's source and note say nothing about the new value
        return {**old, **{key: merge(old[key], value) if key in old else value for key, value in new.items()}}
    if is_named(old) and is_named(new):
        changed = {item["name"]: item for item in new}
        kept = [merge(item, changed.pop(item["name"], {})) for item in old]
        return kept + list(changed.values())
    return new


def is_named(value: Any) -> bool:
    """An array of tables that all have a name."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in value)
    )


def number(figure: Any) -> float:
    """A figure's number, 0 where it is none; the schema complains about it later."""
    value = figure.get("value") if isinstance(figure, dict) else figure
    return float(value) if isinstance(value, int | float) else 0.0


def scaled(figure: Any, ratio: float) -> Any:
    """The figure times a ratio, no longer sure, saying so."""
    source = figure.get("source", "") if isinstance(figure, dict) else ""
    note = f"scaled by {ratio:g} with this file's changes"
    return {"value": number(figure) * ratio, "source": source, "sure": False, "note": note}


def work(tree: Tree, peak: Tree) -> float:
    """FLOP/s that a tree's SMs, clock and rate multiply to."""
    clock = number(peak.get("clock_hz")) or number(tree.get("clock_hz"))
    return number(tree.get("sm_count")) * clock * number(peak.get("flop_per_clock_per_sm"))


def table(tree: Tree, key: str) -> Tree:
    """A table of a tree, empty where there is none or something else."""
    found = tree.get(key)
    return found if isinstance(found, dict) else {}


def scale_peaks(merged: Tree, base: Tree, changes: Tree) -> None:
    """Peaks that follow from changed factors; a tensor clock of its own follows a changed chip clock."""
    ratio = number(merged.get("clock_hz")) / number(base["clock_hz"])
    for name, old in base["peaks"].items():
        peak, given = table(table(merged, "peaks"), name), table(table(changes, "peaks"), name)
        if not peak:
            continue
        if ratio != 1 and "clock_hz" in old and "clock_hz" not in given:
            peak["clock_hz"] = scaled(old["clock_hz"], ratio)
        now, then = work(merged, peak), work(base, old)
        if "flop_per_s" not in given and now != then:
            peak["flop_per_s"] = scaled(old["flop_per_s"], now / then)


def scale_levels(merged: Tree, base: Tree, changes: Tree) -> None:
    """Shared memory and registers, which come with each SM; L2 and dram are others' to change."""
    sms = number(merged.get("sm_count")) / number(base["sm_count"])
    clock = number(merged.get("clock_hz")) / number(base["clock_hz"])
    given = {item["name"]: item for item in changes["levels"]} if is_named(changes.get("levels")) else {}
    for level in merged["levels"] if is_named(merged.get("levels")) else []:
        if level["name"] not in ("shared", "register"):
            continue
        for key, ratio in (("bandwidth_bytes_per_s", sms * clock), ("capacity_bytes", sms)):
            if ratio != 1 and key not in given.get(level["name"], {}) and key in level:
                level[key] = scaled(level[key], ratio)
