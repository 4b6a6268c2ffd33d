"""The launches whose hardware counters are recorded: kernel, grid, block and arrays of each, the same every time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from counter_patterns import LANES, SLOTS, global_patterns, shared_patterns, steady, wide_patterns

# by its own folder, so that a machine with a GPU and no gemmlab can run this
sys.path.append(str(Path(__file__).parents[1] / "src/gemmlab/kernels"))


@dataclass(frozen=True)
class Piece:
    """An array argument: a base array, or a part of one that starts where it likes."""

    base: np.ndarray
    part: tuple[slice, ...] = ()

    @property
    def host(self) -> np.ndarray:
        return self.base[self.part]


@dataclass(frozen=True)
class Case:
    """One launch. `kernel` is a name of counter_kernels (its CUDA text if `cuda`), or `ladder:` and a rung's source."""

    name: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    pieces: Callable[[], tuple[Piece, ...]]
    cuda: bool = False
    scalars: tuple[int, ...] = ()
    product: bool = False  #: the last array shall be the product of the first two

    def program(self) -> Any:
        """The numba.cuda kernel."""
        import counter_kernels

        if not self.kernel.startswith("ladder:"):
            return getattr(counter_kernels, self.kernel)
        import ladder

        module, name, *tile = self.kernel.removeprefix("ladder:").split(":")
        program = ladder.load(f"{module}:{name}")
        return program(*map(int, tile)) if tile else program


WIDTHS = {"float32": 1, "float64": 1, "uint8": 1, "float16": 1}  # numba.cuda's types, in the order of their worth
NARROW = ("uint8", "float16")
WIDE = {"float": ("float32", 1), "double": ("float64", 1), "float2": ("float32", 2), "float4": ("float32", 4)}


def numbers(count: int, kind: str) -> np.ndarray:
    """Values that every type holds."""
    return (np.arange(count) % 100).astype(kind)


def pattern_case(
    name: str, kernel: str, pattern: np.ndarray, kind: str, parts: int, block: int, out: int, cuda: bool
) -> Case:
    """A launch of data, where, out: `parts` values of that kind make an element."""

    def pieces() -> tuple[Piece, ...]:
        data = numbers(8192 * parts, kind)
        return Piece(data), Piece(pattern.astype(np.int32)), Piece(np.zeros(out * parts, kind))

    return Case(name, kernel, (-(-len(pattern) // block),), (block,), pieces, cuda)


def shared_cases(
    kinds: list[tuple[str, str, int, bool]], patterns: dict[str, np.ndarray] | None = None
) -> Iterator[Case]:
    """Shared loads and stores of one warp."""
    for label, kind, parts, cuda in kinds:
        for way in ("load", "store"):
            for text, pattern in (patterns or shared_patterns()).items():
                if kind in NARROW and ("random" in text or "apart alike" in text):
                    continue  # what lanes of one word do is seen in the plain patterns
                name = f"{'cuda ' * cuda}shared {way}, {label}, {text}"
                yield pattern_case(name, f"{way}_shared_{label}", pattern, kind, parts, LANES, SLOTS, cuda)


def global_cases(kinds: list[tuple[str, str, int, bool]]) -> Iterator[Case]:
    """Global loads and stores of two blocks of three warps."""
    for label, kind, parts, cuda in kinds:
        for way in ("load", "store"):
            for text, pattern in global_patterns(192).items():
                name = f"{'cuda ' * cuda}{way}, {label}, {text}"
                kernel = f"{way}_{label}" if cuda else way
                yield pattern_case(name, kernel, pattern, kind, parts, 96, 8192, cuda)


def offset_cases() -> Iterator[Case]:
    """Arrays that start inside another, and blocks of odd sizes."""
    for kind in WIDTHS:
        for offset in (1, 3, 7, 8, 13):
            for step in (1, 2):

                def pieces(kind: str = kind, offset: int = offset, step: int = step) -> tuple[Piece, ...]:
                    data, out = numbers(1024, kind), np.zeros(1024, kind)
                    where = (step * np.arange(192)).astype(np.int32)
                    part = (slice(offset, None),)
                    return Piece(data, part), Piece(where), Piece(out, (slice(2 * offset, None),))

                yield Case(f"load, {kind}, from element {offset}, stride {step}", "load", (2,), (96,), pieces)
    for block in ((1,), (31,), (33,), (100,), (8, 8), (5, 7), (40, 3)):
        threads = 3 * int(np.prod(block))
        for way in ("load", "store"):
            for text, pattern in (("stride 1", np.arange(threads)), ("stride 5", 5 * np.arange(threads))):

                def sized(pattern: np.ndarray = pattern) -> tuple[Piece, ...]:
                    where = pattern.astype(np.int32)
                    return Piece(numbers(8192, "float32")), Piece(where), Piece(np.zeros(8192, np.float32))

                yield Case(f"{way}, float32, block {'x'.join(map(str, block))}, {text}", way, (3,), block, sized)


def grid_cases() -> Iterator[Case]:
    """Rows, columns and transposes of two-dimensional arrays, whole and in part, and plain arithmetic."""
    for kind in ("float32", "float64", "uint8", "float16"):
        for kernel in ("copy_2d", "transpose_2d"):
            for rows, cols, left in ((32, 64, 0), (37, 50, 0), (37, 50, 3)):

                def pieces(
                    kind: str = kind, kernel: str = kernel, rows: int = rows, cols: int = cols, left: int = left
                ) -> tuple[Piece, ...]:
                    data = numbers(rows * (cols + 2 * left), kind).reshape(rows, -1)
                    shape = (rows, cols) if kernel == "copy_2d" else (cols, rows)
                    return Piece(data, (slice(None), slice(left, left + cols))), Piece(np.zeros(shape, kind))

                grid = (-(-cols // 16), -(-rows // 8))
                yield Case(f"{kernel}, {kind}, {rows}x{cols} from column {left}", kernel, grid, (16, 8), pieces)
    for kind in ("float32", "float64"):
        for kernel in ("row_sums", "column_sums"):

            def sums(kind: str = kind, kernel: str = kernel) -> tuple[Piece, ...]:
                data = numbers(70 * 45, kind).reshape(70, 45)
                return Piece(data), Piece(np.zeros(70 if kernel == "row_sums" else 45, kind))

            yield Case(f"{kernel}, {kind}, 70x45", kernel, (2,), (64,), sums)

        def line(kind: str = kind) -> tuple[Piece, ...]:
            return Piece(numbers(200, kind)), Piece(np.ones(200, kind))

        def scaled(kind: str = kind) -> tuple[Piece, ...]:
            return Piece(np.full(1, 3, kind)), Piece(numbers(200, kind)), Piece(np.ones(200, kind))

        yield Case(f"three_point, {kind}, 200", "three_point", (4,), (64,), line)
        yield Case(f"multiply, {kind}, 200", "multiply", (4,), (64,), line)
        yield Case(f"axpy, {kind}, 200", "axpy", (4,), (64,), scaled)


def atomic_cases() -> Iterator[Case]:
    """Atomics on global and shared memory."""
    t = np.arange(96)
    patterns = {
        "all the same": 0 * t + 3,
        "all apart": t,
        "stride 2": 2 * t,
        "stride 8": 8 * t,
        "stride 33": 33 * t % 1056,
        "pairs": t // 2,
        "sixteen bins": steady(31).randint(0, 16, 96),
        "random": steady(32).randint(0, 1024, 96),
        "every second thread, the same": np.where(t % 2, -1, 9),
        "every second thread, apart": np.where(t % 2, -1, t),
        "stride 32": 32 * t % 1024,
    }
    global_kernels = [("atomic_add", kind) for kind in ("int32", "float32", "int64", "float64")]
    global_kernels += [("atomic_max", "int32"), ("atomic_add_old", "int32"), ("atomic_add_old", "float32")]
    global_kernels += [("atomic_exch", "int32"), ("atomic_cas", "int32")]
    shared_kernels = [("shared_atomic_add", "int32"), ("shared_atomic_exch", "int32")]
    for kernel, kind in global_kernels + shared_kernels:
        for text, pattern in patterns.items():

            def pieces(kernel: str = kernel, kind: str = kind, pattern: np.ndarray = pattern) -> tuple[Piece, ...]:
                values, where = numbers(SLOTS, kind), pattern.astype(np.int32)
                out = np.zeros(SLOTS, kind)
                old = (Piece(np.zeros(96, kind)),) if kernel in ("atomic_add_old", "atomic_exch", "atomic_cas") else ()
                return Piece(values), Piece(where), Piece(out), *old

            yield Case(f"{kernel}, {kind}, {text}", kernel, (1,), (96,), pieces)


def one_warp_atomic_cases() -> Iterator[Case]:
    """Atomics of one warp on some or few places: how lanes of one place, and of one sector or bank, add up."""
    lane = np.arange(LANES)
    patterns = {f"warp {warp} of random": steady(32).randint(0, 1024, 96)[warp * 32 :][:32] for warp in range(3)}
    patterns |= {
        "two of one place": np.where(lane == 20, 0, 8 * lane),
        "two of one place, one line": np.where(lane == 20, 0, lane),
        "two of one place, one beside": np.select([lane == 4, lane == 10, lane == 23], [310, 305, 310], -1),
        "two of one place, one beside, lines apart": np.select([lane == 10, lane == 23], [33, 128], 32 * lane),
        "two of one place, neighbours": np.where(lane == 1, 0, 8 * lane),
        "fours": lane // 4,
        "modulo 8": lane % 8,
        "two places of a sector": np.where(lane < 30, 0, 1),
    }
    for seed in range(4):
        for reach in (4, 12, 32, 100, 400):
            patterns[f"random under {reach}, {seed}"] = steady(33, seed, reach).randint(0, reach, LANES)
    kernels = [
        ("atomic_add", "int32", patterns),
        ("atomic_add", "int64", patterns),
        ("atomic_add_old", "int32", patterns),
    ]
    few = {text: pattern for text, pattern in patterns.items() if " 0" in text or "of one place" in text}
    kernels += [(f"shared_atomic_{op}", kind, few) for op, kind in
                (("add", "int32"), ("max", "int32"), ("exch_wide", "int64"), ("add_float", "float32"))]  # fmt: skip
    for kernel, kind, chosen in kernels:
        for text, pattern in chosen.items():

            def pieces(kernel: str = kernel, kind: str = kind, pattern: np.ndarray = pattern) -> tuple[Piece, ...]:
                old = (Piece(np.zeros(LANES, kind)),) if kernel == "atomic_add_old" else ()
                return Piece(numbers(SLOTS, kind)), Piece(pattern.astype(np.int32)), Piece(np.zeros(SLOTS, kind)), *old

            yield Case(f"one warp, {kernel}, {kind}, {text}", kernel, (1,), (LANES,), pieces)


SHAPES = ((256, 256, 256), (100, 70, 33), (64, 64, 64), (129, 65, 31), (1, 7, 5), (33, 257, 100))


def product_pieces(m: int, n: int, k: int, left: int = 0) -> Callable[[], tuple[Piece, ...]]:
    """A, B and C of whole numbers, with `left` more columns on either side of each, so that rows start unaligned."""

    def pieces() -> tuple[Piece, ...]:
        random = steady(m, n, k)
        inside = slice(left, -left if left else None)
        a = random.randint(-3, 4, (m, k + 2 * left)).astype(np.float32)
        b = random.randint(-3, 4, (k, n + 2 * left)).astype(np.float32)
        c = np.zeros((m, n + 2 * left), np.float32)
        return tuple(Piece(x, (slice(None), inside) if left else ()) for x in (a, b, c))

    return pieces


def ladder_cases() -> Iterator[Case]:
    """Every rung at shapes that fit its tiles and shapes that do not."""
    import ladder

    # warp_tile stands for a kernel in CUDA C++, and no counters of it are recorded yet
    rungs = {name: (rung, rung.source) for name, rung in ladder.RUNGS.items() if name != "warp_tile"}
    rungs["unpadded"] = (ladder.RUNGS["padded"], ladder.BROKEN["unpadded"].source)
    for m, n, k in SHAPES:
        for name, (rung, source) in rungs.items():
            grid, block = rung.launch(m, n)
            yield Case(f"{name} {m}x{n}x{k}", f"ladder:{source}", grid, block, product_pieces(m, n, k), product=True)
        for tile in (4, 8, 32):
            grid, kernel = (-(-n // tile), -(-m // tile), 1), f"ladder:tiled:tiled:{tile}"
            yield Case(
                f"tiled T={tile} {m}x{n}x{k}", kernel, grid, (tile, tile, 1), product_pieces(m, n, k), product=True
            )
        for kernel, tile in (("tiled_8", 8), ("tiled_16", 16), ("padded", 32), ("unpadded", 32)):
            grid = (-(-n // tile), -(-m // tile), 1)
            yield Case(f"cuda {kernel} {m}x{n}x{k}", kernel, grid, (tile, tile, 1), product_pieces(m, n, k), True,
                       (m, n, k), product=True)  # fmt: skip
    for name, (rung, source) in rungs.items():
        grid, block = rung.launch(100, 70)
        pieces = product_pieces(100, 70, 33, left=3)
        yield Case(f"{name} 100x70x33 from column 3", f"ladder:{source}", grid, block, pieces, product=True)


def cases() -> tuple[Case, ...]:
    """All of them, what matters most first."""
    own = [(kind, kind, 1, False) for kind in WIDTHS]
    wide = [(label, kind, parts, True) for label, (kind, parts) in WIDE.items()]
    found = (
        *ladder_cases(),
        *offset_cases(),
        *grid_cases(),
        *atomic_cases(),
        *shared_cases([own[0], own[1], wide[3], own[2], own[3]]),
        *global_cases([own[0], own[1], wide[3], own[2], own[3]]),
        *shared_cases([wide[2]]),
        *shared_cases([own[1], wide[3]], wide_patterns()),
        *one_warp_atomic_cases(),
    )
    assert len({case.name for case in found}) == len(found)
    return found
