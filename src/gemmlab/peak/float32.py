"""float32 on the tensor cores: both operands as two float16 each, and threads for what those cannot say."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from gemmlab.kernels.nvrtc import kept
from gemmlab.peak.driver import Kernel, Launch
from gemmlab.peak.engine import FOLDER
from gemmlab.peak.stored import Stored
from gemmlab.record import GemmlabError
from gemmlab.units import ceil_div, round_up

THREADS = 256  # of a block, of both kernels
WARPS = THREADS // 32
THREADS_BLOCKS = 528  # four on each SM
SIDE = 32  # rows of a turned operand that a block takes
HELD, MOST_HELD = 8, 16  # chunks of four elements of a thread
DEEPEST = 64  # elements along k that a thread holds of a turned operand
MOST_CLUSTER = 8
MOST_K = 1 << 30  # both pieces lie in a row, whose coordinates are 31 bits


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """One compiled form of split.cu."""

    a_turned: bool = False  #: A's rows in memory run along m
    b_turned: bool = False  #: B's run along n
    team: int = 32  #: threads of a row along k
    held: int = 1  #: chunks of four elements that each of them holds
    deep: int = 16  #: elements along k that a thread holds of a turned operand
    cluster: int = 1  #: blocks that share a turned operand's k
    looped: bool = False  #: rows do not fit registers: they are read twice

    def blocks(self, rows: int, *, turned: bool) -> int:
        """Blocks of an operand, whole clusters."""
        if turned:
            return ceil_div(rows, SIDE) * self.cluster
        return round_up(ceil_div(rows, THREADS // self.team), self.cluster)

    def text(self) -> tuple[str, dict[str, str]]:
        """The kernel's text with its macros before it, and the headers that it includes by name."""
        head = "".join(f"#define {name.upper()} {int(getattr(self, name))}\n" for name in self.__struct_fields__)
        text, headers = text_of("split.cu", "pieces.cuh", "turned.cuh")
        return head + text, headers


def split_form(padded: int, a_turned: bool, b_turned: bool) -> Split:
    """The form for rows of `padded` elements, a multiple of 64: as many threads of a row as hold it, up to a block."""
    team, held = 32, HELD
    while team < THREADS and 4 * team * held < padded:
        team *= 2
    if team == 32:
        held = next(held for held in (1, 2, 4, 8) if 4 * team * held >= padded)
    elif 4 * team * held < padded:
        held = MOST_HELD
    deep, cluster = 16, 1
    while deep < DEEPEST and WARPS * deep * MOST_CLUSTER < padded:
        deep *= 2
    while cluster < MOST_CLUSTER and WARPS * deep * cluster < padded:
        cluster *= 2
    along, turned = not (a_turned and b_turned), a_turned or b_turned
    form = Split(
        a_turned=a_turned,
        b_turned=b_turned,
        looped=(along and 4 * team * held < padded) or (turned and WARPS * deep * cluster < padded),
    )
    form = replace(form, team=team, held=held) if along else form
    return replace(form, deep=deep, cluster=cluster) if turned else form


@lru_cache(maxsize=64)
def split_kernel(form: Split, device: int) -> Kernel:
    """The compiled kernel on a device, whose context is current."""
    text, headers = form.text()
    return Kernel(kept(text, headers=headers), "split")


@lru_cache(maxsize=4)
def threads_kernel(device: int) -> Kernel:
    """The kernel of threads.cu on a device, whose context is current."""
    text, headers = text_of("threads.cu", "refused.cuh")
    return Kernel(kept(text, headers=headers), "by_threads")


def text_of(name: str, *headers: str) -> tuple[str, dict[str, str]]:
    """A kernel's file, and those that it includes by name."""
    return (FOLDER / name).read_text(encoding="utf-8"), {
        each: (FOLDER / each).read_text(encoding="utf-8") for each in headers
    }


class SplitOperand(ctypes.Structure):
    """`Operand` of pieces.cuh."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("x", "pieces", "inverse", "refused")),
        ("ld", ctypes.c_longlong),
        ("rows", ctypes.c_int),
        ("blocks", ctypes.c_int),
    )


class Matrix(ctypes.Structure):
    """`Matrix` of threads.cu."""

    _fields_ = (("at", ctypes.c_void_p), ("along_side", ctypes.c_longlong), ("along_k", ctypes.c_longlong))


class Pieces(NamedTuple):
    """What `split` makes ready."""

    buffer: Any  #: all of it, to be kept alive
    a: Stored
    b: Stored
    scales: tuple[int, int]  #: addresses of float32 factors of D's rows and columns
    apart: int  #: elements along k between a high part and its low one
    refused: tuple[int, int]  #: address and number of bytes that tell of rows that cannot be said so
    launch: Launch


def split(a: Stored, b: Stored, k: int, torch: Any, device: int) -> Pieces:
    """Both float32 operands as float16 pieces beside one another along k.

    Raises GemmlabError for a k whose pieces the copy engine cannot address.
    """
    if k > MOST_K:
        raise GemmlabError(f"k={k} of float32", f"at most {MOST_K}: both pieces lie along k")
    padded = round_up(k, 64)
    sides = [each.rows if each.along_k else each.columns for each in (a, b)]
    form = split_form(padded, not a.along_k, not b.along_k)
    *places, total = accumulate(
        (*(4 * padded * side for side in sides), *(round_up(4 * side, 256) for side in sides), sum(sides)), initial=0
    )
    buffer = torch.empty(total, dtype=torch.uint8, device=f"cuda:{device}")
    *pieces, a_scale, b_scale, refused = (buffer.data_ptr() + place for place in places)
    operands = [
        SplitOperand(source.address, to, scale, told, source.ld, side, form.blocks(side, turned=not source.along_k))
        for source, side, to, scale, told in zip(
            (a, b), sides, pieces, (a_scale, b_scale), (refused, refused + sides[0]), strict=True
        )
    ]
    launch = split_kernel(form, device).prepare(
        (operands[0].blocks + operands[1].blocks,),
        THREADS,
        (*operands, ctypes.c_int(k), ctypes.c_int(padded)),
        early=True,
    )
    left, right = (
        Stored(to, side, 2 * padded, 2 * padded, 2, along_k=True) for to, side in zip(pieces, sides, strict=True)
    )
    return Pieces(buffer, left, right, (a_scale, b_scale), padded, (refused, sum(sides)), launch)


def by_threads(
    refused: tuple[int, int], a: Stored, b: Stored, d: Stored, sides: tuple[int, int, int], device: int
) -> Launch:
    """The launch that multiplies float32 by threads where one of the bytes of `refused` is not zero by then."""
    m, n, k = sides
    matrices = [Matrix(each.address, *((each.ld, 1) if each.along_k else (1, each.ld))) for each in (a, b)]
    told = (ctypes.c_void_p(refused[0]), ctypes.c_int(refused[1]))
    values = (*told, *matrices, ctypes.c_void_p(d.address), ctypes.c_longlong(d.ld), *map(ctypes.c_int, (m, n, k)))
    grid = (min(ceil_div(m, 64) * ceil_div(n, 64), THREADS_BLOCKS),)
    return threads_kernel(device).prepare(grid, THREADS, values, early=True)
