"""What the page knows of chips, formats, kernels and colours: files that it reads, made from the package's own tables.

`python -m gemmlab.lab.data web/src/data` writes them; with `--check` it only says which are not current.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from gemmlab import chips, kernels
from gemmlab.chips import Chip
from gemmlab.formats import bits_of, get
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError


def chip_data(chip: Chip) -> dict[str, Any]:
    """A chip with each figure as (path, value, number of its source, sure, note), in the order of its file."""
    entries = chips.figures(chip)
    sources = list(dict.fromkeys(entry.source for entry in entries))
    about = {
        name: getattr(chip, name)
        for name in ("name", "full_name", "vendor", "architecture", "kind", "year", "features", "notes")
    }
    return about | {
        "standing": chips.standing(chip),
        "units": {name: peak.unit for name, peak in chip.peaks.items()},
        "instructions": {name: peak.instruction for name, peak in chip.peaks.items() if peak.instruction},
        "warp_size": chip.limits.warp_size if chip.limits else None,
        "sources": sources,
        "figures": [[e.path, plain(e.value), sources.index(e.source), e.sure, e.note] for e in entries],
    }


def plain(value: float) -> int | float:
    """A whole number without its `.0`, as JSON is shorter and exact that way."""
    return int(value) if value == int(value) and abs(value) < 2**53 else value


def chip_files() -> Any:
    """All chips, by name."""
    return {name: chip_data(chips.get(name)) for name in chips.names()}


def name_lists() -> Any:
    """What an address may name: chips, formats that some chip multiplies (the widest first), kernels."""
    formats = {name for chip in map(chips.get, chips.names()) for name in chip.peaks}
    return {
        "chips": chips.names(),
        "formats": sorted(formats, key=lambda name: (-bits_of(name), name)),
        "kernels": kernels.names(),
    }


def format_data() -> Any:
    """Of each of those formats: bits of an element and of its fraction, and the formats of C, D and the accumulator."""
    found = {}
    for name in name_lists()["formats"]:
        problem = Gemm(1, 1, 1, name)
        found[name] = {
            "bits": bits_of(name),
            "mantissa_bits": get(name).mantissa_bits,
            "d_format": problem.d_format,
            "d_bits": bits_of(problem.d_format),
            "accumulate": problem.accumulate,
        }
    return found


def catalogue() -> Any:
    """The kernels as they are before a problem's formats and a tile are taken into account."""
    return {name: msgspec.to_builtins(kernels.get(name)) for name in kernels.names()}


def stand_ins() -> Any:
    """Formats that hold every value of another one, those tried first in front."""
    from gemmlab.model.machine import WIDER

    return WIDER


def colours() -> Any:
    """Colours by role, those of every report: on light paper, on dark paper."""
    from gemmlab.report.svg import PALETTE

    return PALETTE


def wgsl_texts() -> Any:
    """The kernels in WGSL that the bench runs."""
    from gemmlab.lab.reads import texts

    return texts()


def played(name: str) -> Callable[[], Any]:
    """What `vectors` makes under that name; it is loaded when it is wanted, as it needs numba."""

    def make() -> Any:
        return getattr(import_module("gemmlab.lab.vectors"), name)()

    return make


FILES: dict[str, Callable[[], Any]] = {
    "catalogue.json": catalogue,
    "chips.json": chip_files,
    "formats.json": format_data,
    "kernels.json": played("kernels"),
    "names.json": name_lists,
    "palette.json": colours,
    "precision.json": played("precision"),
    "stand-ins.json": stand_ins,
    "units.json": played("units"),
    "wgsl.json": wgsl_texts,
}


def text(data: Any) -> str:
    """JSON with an entry of the outermost table on a line of its own, so that a change shows where it is."""
    if not isinstance(data, dict):
        return json.dumps(data, ensure_ascii=False) + "\n"
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in data.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def stale(folder: Path, files: Mapping[str, Callable[[], Any]]) -> list[str]:
    """Names of the files that do not hold what the package says now."""
    return [
        name
        for name, make in files.items()
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != text(make())
    ]


def main(words: Sequence[str], files: Mapping[str, Callable[[], Any]] = FILES) -> int:
    """Write the files into the folder that is named, or with `--check` say which are not current; 1 where some are."""
    folders = [word for word in words if word != "--check"]
    if len(folders) != 1:
        raise GemmlabError("one folder is needed", "as `make golden` does: python -m gemmlab.lab.data web/src/data")
    folder = Path(folders[0])
    if "--check" in words:
        found = stale(folder, files)
        for name in found:
            print(f"{folder / name} is not current: make golden", file=sys.stderr)
        return int(bool(found))
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in files.items():
        (folder / name).write_text(text(make()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
