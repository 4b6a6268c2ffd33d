"""What is recorded of a GPU's tensor cores: instructions, how a compiler is brought to take them, and products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numerics_inputs
from gemmlab import numerics
from gemmlab.numerics import sass, truncation
from gemmlab.numerics.backends import ptx
from gemmlab.numerics.operands import typed
from gemmlab.numerics.schedule import Schedule

E4M3, E5M2 = "float8_e4m3fn", "float8_e5m2"
STEP = {"float16": 16, "bfloat16": 16, "tfloat32": 8, E4M3: 32, E5M2: 32, "int8": 32}
GOLDEN = {"float16": 32, "bfloat16": 32, "tfloat32": 16, E4M3: 64, E5M2: 64, "int8": 64}


class Set(NamedTuple):
    """One instruction on one pair of formats, and how the compiler is brought to take it."""

    way: str  #: `wgmma`, `mma` (Triton's small tile), `mma.sync` (one instruction in PTX) or `imprecise0`
    a_format: str
    b_format: str
    accumulate: str

    @property
    def name(self) -> str:
        """As it stands in the record."""
        return f"{self.way} {self.a_format} x {self.b_format} -> {self.accumulate}"


def sets() -> list[Set]:
    """All that is recorded."""
    pairs = [(name, name, "float32") for name in ("float16", "bfloat16", "tfloat32", E4M3, E5M2)]
    mixed = [(E4M3, E5M2, "float32"), (E5M2, E4M3, "float32")]
    narrow = [("float16", "float16", "float16"), (E4M3, E4M3, "float16"), (E5M2, E5M2, "float16")]
    whole = [("int8", "int8", "int32")]
    found = [Set(way, *each) for way in ("wgmma", "mma.sync") for each in (*pairs, *mixed, *narrow, *whole)]
    found += [Set("mma", *each) for each in (*pairs, *mixed, *whole)]
    return [*found, Set("imprecise0", E4M3, E4M3, "float32"), Set("imprecise0", E5M2, E5M2, "float32")]


def backend(chosen: Set, dry: bool, **options: Any) -> Any:
    """The callable of a set, with `compiled` once called."""
    about = {"b_format": chosen.b_format, "accumulate": chosen.accumulate}
    if dry:
        return Stand(chosen, **options)
    if chosen.way == "mma.sync":
        return ptx.Mma(chosen.a_format, **about)
    from gemmlab.numerics.backends.triton import Triton

    way, imprecise = ("wgmma", 0) if chosen.way == "imprecise0" else (chosen.way, None)
    return Triton(chosen.a_format, instruction=way, **about, **({"imprecise": imprecise} | options))


class Stand:
    """An emulated unit in a GPU's place, of the machine code that the kernel would have."""

    known: ClassVar[dict[Any, sass.Compiled]] = {}

    def __init__(self, chosen: Set, **options: Any) -> None:
        self.chosen = chosen
        self.accumulate = chosen.accumulate
        self.options = {key: value for key, value in options.items() if key in ("spelling", "imprecise")}
        self.block_k = options.get("block_k") or (32 if chosen.a_format == "tfloat32" else 64)
        key = (chosen, tuple(options.items()))
        if key not in self.known:
            about = {"b_format": chosen.b_format, "accumulate": chosen.accumulate}
            if chosen.way == "mma.sync":
                self.known[key] = ptx.compile_mma(chosen.a_format, **about)
            else:
                block_m = 32 if chosen.way == "mma" else 128
                imprecise = 0 if chosen.way == "imprecise0" else None
                about |= {"tile": (block_m, 64, self.block_k), "imprecise": imprecise} | self.options
                self.known[key] = sass.compile_dot(chosen.a_format, **about)
            print(f"{chosen.name} {options}: {self.known[key].unit_name} {self.known[key].matrix}", flush=True)
        self.compiled = self.known[key]

    def __call__(self, a: Any, b: Any, c: Any = None) -> Any:
        """By its unit and, where sums go on outside of it, by schedule."""
        form = {"a_format": self.chosen.a_format, "b_format": self.chosen.b_format}
        promote = self.options.get("imprecise") or (self.block_k if self.options.get("spelling") == "summed" else 0)
        if promote:
            return numerics.gemm(a, b, unit=self.compiled.unit(), schedule=Schedule(promote=promote), **form)
        return numerics.mma(self.compiled.unit(), a, b, c, **form)

    def swept(self, a: Any, b: Any, bits: int, *, block_k: int, mode: str, action: str) -> Any:
        """Block by block of k, cleared as the kernel does."""
        chunks = truncation.Chunks(self)
        return chunks(a, b, bits, block_k=block_k, mode=mode, action=action)


class Case(NamedTuple):
    """One product of a set."""

    kind: str
    m: int
    n: int
    k: int
    seed: int


def cases(chosen: Set, dry: bool) -> list[Case]:
    """Products of every kind at one and at four instructions of k, ragged ones, and two whole multi-tile GEMMs."""
    step, side = STEP[chosen.a_format], 16 if dry else 256
    found = [Case(kind, side, side, k, seed) for seed, (kind, k) in enumerate(
        (kind, k) for kind in numerics_inputs.KINDS for k in (step, 4 * step))]  # fmt: skip
    found += [Case(kind, 100 if not dry else 5, 77 if not dry else 9, 3 * step // 2 + 1, 100 + seed)
              for seed, kind in enumerate(numerics_inputs.KINDS)]  # fmt: skip
    if chosen.a_format == "tfloat32":
        found.append(Case("payload", side, side, 4 * step, 120))
    if dry:
        return [*found, Case("normal", 40, 40, 160, 200)]
    return [*found, Case("normal", 1024, 1024, 512, 200), Case("spread", 512, 512, 2048, 201)]


def drawn(chosen: Set, case: Case) -> tuple[list[Any], dict[str, str]]:
    """[A, B, C] as arrays or raw codes, and the formats to read them by."""
    made = numerics_inputs.inputs(case.kind, *chosen[1:], *case[1:])
    arrays = [made.a, made.b, made.c]
    if chosen.a_format == "int8":
        arrays = [typed(made.a, "int8"), typed(made.b, "int8"), typed(made.c, "int32")]
    return arrays, {"a_format": chosen.a_format, "b_format": chosen.b_format}


class Whole(NamedTuple):
    """A whole GEMM, as a kernel computes it and as a schedule says so."""

    words: str
    set: Set
    options: dict[str, Any]  #: of the kernel
    schedule: Schedule
    d_format: str


def wholes(dry: bool) -> Iterator[Whole]:
    """Whole GEMMs whose sums leave the tensor core."""
    for name in ("float16", "bfloat16", E4M3, E5M2):
        for way in ("wgmma", "mma"):
            one = Set(way, name, name, "float32")
            two = {"spelling": "summed", "block_k": 128, "stages": 2}
            yield Whole("promoted every 128", one, two, Schedule(promote=128), "float32")
            yield Whole("split k by 3, float32", one, {}, Schedule(split_k=3, block_k=64), "float32")
            yield Whole("split k by 4, bfloat16 out", one, {}, Schedule(split_k=4, block_k=64), "bfloat16")
    tf32 = {"spelling": "summed", "block_k": 64, "stages": 2}
    one = Set("wgmma", "tfloat32", "tfloat32", "float32")
    yield Whole("promoted every 64", one, tf32, Schedule(promote=64), "float32")
    for every in (32, 64, 128):
        options = {"imprecise": every, "block_k": 128}
        for name in (E4M3, E5M2):
            one = Set("wgmma", name, name, "float32")
            yield Whole(f"max_num_imprecise_acc={every}", one, options, Schedule(promote=every), "float32")
    if not dry:
        options = {"spelling": "added", "block_k": 128}
        for name in (E4M3, E5M2):
            one = Set("wgmma", name, name, "float32")
            yield Whole("acc += tl.dot(a, b), block_k = 128", one, options, Schedule(promote=128), "float32")
        for name in ("float16", "bfloat16"):
            one = Set("wgmma", name, name, "float32")
            yield Whole("acc += tl.dot(a, b), folded back", one, options, Schedule(), "float32")
