"""float32 on the tensor cores: both operands as two float16 each, and another way for what those cannot say."""

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
from gemmlab.peak.tf32x3 import OTHERWISE, tf32x3_launch
from gemmlab.record import GemmlabError
from gemmlab.units import ceil_div, round_up

THREADS = 256  # of a block; twice as many where a turned operand's rows need them
SIDE = 32  # rows of a turned operand that a block takes
HELD, MOST_HELD = 8, 16  # chunks of four elements of a thread
DEEP = 16  # elements along k that a thread holds of a turned operand, or a multiple: whole sectors of pieces
#: threads of a block, blocks of a cluster, and what a thread may hold, of a turned operand: first what fills more SMs
TURNED = ((THREADS, 1, 16), (THREADS, 2, 16), (THREADS, 4, 16), (THREADS, 8, 80), (THREADS, 16, 80), (512, 16, 64))
PORTABLE = 8  # blocks of a cluster on any chip: CUDA C++ Programming Guide, thread block clusters
MOST_K = 1 << 30  # both pieces lie in a row, whose coordinates are 31 bits


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """One compiled form of split.cu."""

    a_turned: bool = False  #: A's rows in memory run along m
    b_turned: bool = False  #: B's run along n
    threads: int = THREADS  #: of a block
    team: int = 32  #: threads of a row along k
    held: int = 1  #: chunks of four elements that each of them holds
    deep: int = 16  #: elements along k that a thread holds of a turned operand
    cluster: int = 1  #: blocks that share a turned operand's k
    looped: bool = False  #: rows do not fit registers: they are read twice

    def blocks(self, rows: int, *, turned: bool) -> int:
        """Blocks of an operand, whole clusters."""
        if turned:
            return ceil_div(rows, SIDE) * self.cluster
        return round_up(ceil_div(rows, self.threads // self.team), self.cluster)

    @property
    def shared_bytes(self) -> int:
        """Shared memory that a launch asks for: 32 rows of each warp's parts, an odd number of 16 bytes each."""
        return self.threads * (self.deep // 8 | 1) * 16 if self.a_turned or self.b_turned else 0

    def text(self) -> tuple[str, dict[str, str]]:
        """The kernel's text with its macros before it, and the headers that it includes by name."""
        head = "".join(f"#define {name.upper()} {int(getattr(self, name))}\n" for name in self.__struct_fields__)
        text, headers = text_of("split.cu", "pieces.cuh", "turned.cuh")
        return head + text, headers


def split_form(padded: int, a_turned: bool, b_turned: bool) -> Split:
    """The form for rows of `padded` elements, a multiple of 64: as many threads of a row as hold it, up to a block."""
    turned, looped = Split(a_turned=a_turned, b_turned=b_turned), False
    if a_turned or b_turned:
        turned, looped = turned_form(turned, padded)
    if a_turned and b_turned:
        return replace(turned, looped=looped)
    team, held = 32, HELD
    while team < THREADS and 4 * team * held < padded:
        team *= 2
    if team == 32:
        held = next(held for held in (1, 2, 4, 8) if 4 * team * held >= padded)
    elif 4 * team * held < padded:
        held = MOST_HELD
    return replace(turned, team=team, held=held, looped=looped or 4 * team * held < padded)


def turned_form(form: Split, padded: int) -> tuple[Split, bool]:
    """Blocks that share k of a turned operand and what each thread holds of it, and whether that is not all."""
    for threads, cluster, deepest in TURNED:
        deep = max(DEEP, round_up(ceil_div(padded, threads // 32 * cluster), DEEP))
        if deep <= deepest:
            return replace(form, threads=threads, cluster=cluster, deep=deep), False
    return replace(form, threads=THREADS, cluster=PORTABLE, deep=2 * DEEP), True


@lru_cache(maxsize=64)
def split_kernel(form: Split, device: int) -> Kernel:
    """The compiled kernel on a device, whose context is current."""
    text, headers = form.text()
    return Kernel(kept(text, headers=headers), "split", form.shared_bytes, wide_clusters=form.cluster > PORTABLE)


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
        form.threads,
        (*operands, ctypes.c_int(k), ctypes.c_int(padded)),
        early=True,
    )
    left, right = (
        Stored(to, side, 2 * padded, 2 * padded, 2, along_k=True) for to, side in zip(pieces, sides, strict=True)
    )
    return Pieces(buffer, left, right, (a_scale, b_scale), padded, (refused, sum(sides)), launch)


def otherwise(
    refused: tuple[int, int], a: Stored, b: Stored, d: Stored, sides: tuple[int, int, int], device: int, sms: int
) -> Launch:
    """The launch that makes results of refused rows and columns, and no others, from the operands as they lie."""
    form = replace(OTHERWISE, a_sides=not a.along_k, b_sides=not b.along_k, a_wide=a.on_road, b_wide=b.on_road)
    return tf32x3_launch(form, a, b, d, sides, device, programs=sms, refused=refused)
