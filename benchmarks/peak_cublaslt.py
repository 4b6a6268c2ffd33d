"""The best of cuBLASLt's own list for one multiplication: each algorithm that it offers is tried, by ctypes.

`torch` asks the same library for the first of that list; what a search could gain is told beside it. Names and numbers
are those of cublasLt.h and library_types.h of CUDA 13. D's rows are its columns there: it computes D^T = B^T A^T.
"""

from __future__ import annotations

import ctypes
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from peak_row import Row
from peak_timing import captured, in_turn, seconds_of

LISTED = 64  # algorithms asked for
WORKSPACE_BYTES = 32 << 20
SCAN_S = 2.0  # that a search may take
REPLAY_S = 4e-4  # of a replay of the search, shorter than the one that counts
LONG_S = 1e-3  # from there on a call is timed without a graph: its launch is nothing beside it
FINALISTS = 3
ALIGNED = 256  # bytes: as much as the library asks about

R_32F, COMPUTE_32F, COMPUTE_32F_FAST_TF32 = 0, 68, 77
TYPES = {"float32": 0, "float16": 2, "bfloat16": 14, "float8_e4m3fn": 28, "float8_e5m2": 29}  # cudaDataType
DESC_TRANSA, DESC_TRANSB, DESC_A_SCALE, DESC_B_SCALE, DESC_FAST_ACCUM = 3, 4, 17, 18, 25
PREFERENCE_WORKSPACE, PREFERENCE_ALIGNMENTS = 1, (5, 6, 7, 8)  # of A, B, C, D


class Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = (
        ("algorithm", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


class Operand(NamedTuple):
    """A matrix as the library sees it: its columns contiguous."""

    rows: int
    columns: int
    ld: int
    turned: bool


class Best(NamedTuple):
    """What a search found."""

    multiply: Any  #: of a, b, d
    place: int  #: in the library's list, from 0
    tried: int
    listed: int


@cache
def library() -> Any:
    """The library that torch has loaded, or the one of its packages; raises OSError where there is none."""
    name = "libcublasLt.so.13"
    folders = [Path(folder) / "nvidia" for folder in sys.path]
    places = [name, *(str(path) for folder in folders for path in sorted(folder.glob(f"*/lib/{name}")))]
    for place in places:
        try:
            return ctypes.CDLL(place)
        except OSError:
            continue
    raise OSError(f"{name} is not found: pip install nvidia-cublas")


def checked(status: int) -> None:
    """Raise RuntimeError with the library's name of a status that is not success."""
    if status:
        name = library().cublasLtGetStatusName
        name.restype = ctypes.c_char_p
        raise RuntimeError(f"cuBLASLt: {name(status).decode()}")


@cache
def handle() -> ctypes.c_void_p:
    """The library's handle on the current device."""
    found = ctypes.c_void_p()
    checked(library().cublasLtCreate(ctypes.byref(found)))
    return found


def told(function: str, of: ctypes.c_void_p, name: int, value: Any) -> None:
    """Set an attribute of a descriptor."""
    checked(getattr(library(), function)(of, name, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value))))


def operation(compute: int, left_turned: bool, right_turned: bool) -> ctypes.c_void_p:
    """A descriptor of op(left) op(right) with sums and factors in float32."""
    found = ctypes.c_void_p()
    checked(library().cublasLtMatmulDescCreate(ctypes.byref(found), compute, R_32F))
    told("cublasLtMatmulDescSetAttribute", found, DESC_TRANSA, ctypes.c_int32(left_turned))
    told("cublasLtMatmulDescSetAttribute", found, DESC_TRANSB, ctypes.c_int32(right_turned))
    return found


def layout(form: str, operand: Operand) -> ctypes.c_void_p:
    """A descriptor of how an operand lies."""
    found = ctypes.c_void_p()
    sides = ctypes.c_uint64(operand.rows), ctypes.c_uint64(operand.columns), ctypes.c_int64(operand.ld)
    checked(library().cublasLtMatrixLayoutCreate(ctypes.byref(found), TYPES[form], *sides))
    return found


def preference(alignments: tuple[int, int, int]) -> ctypes.c_void_p:
    """What an algorithm may ask for: workspace, and the alignment of left, right and result in bytes."""
    found, (left, right, result) = ctypes.c_void_p(), alignments
    checked(library().cublasLtMatmulPreferenceCreate(ctypes.byref(found)))
    function = "cublasLtMatmulPreferenceSetAttribute"
    told(function, found, PREFERENCE_WORKSPACE, ctypes.c_uint64(WORKSPACE_BYTES))
    for name, bytes_ in zip(PREFERENCE_ALIGNMENTS, (left, right, result, result), strict=True):
        told(function, found, name, ctypes.c_uint32(bytes_))
    return found


def read_as(tensor: Any) -> Operand:
    """How the transpose of a view (rows, columns) lies for the library; `turned` where it reads the view itself."""
    rows, columns = tensor.shape
    if tensor.stride(1) == 1 or columns == 1:  # contiguous along its rows: columns of (columns, rows)
        return Operand(columns, rows, tensor.stride(0) if rows > 1 else columns, turned=False)
    return Operand(rows, columns, tensor.stride(1) if columns > 1 else rows, turned=True)


def alignment(tensors: list[Any]) -> int:
    """Bytes of the largest power of two that all addresses are multiples of, up to 256."""
    together = ALIGNED
    for each in tensors:
        together |= int(each.data_ptr())
    return together & -together


class Library:
    """cuBLASLt set up for a row's multiplication."""

    def __init__(self, row: Row) -> None:
        torch, (a, b), d = row.torch, row.operands[0], row.results["ours"][0]
        tf32 = row.form == "float32" and row.accuracy == "fast"
        left, right, result = read_as(b), read_as(a), read_as(d)
        self.torch, self.out_form = torch, str(row.out_type).removeprefix("torch.")
        self.operation = operation(COMPUTE_32F_FAST_TF32 if tf32 else COMPUTE_32F, left.turned, right.turned)
        if row.eight:
            for name in (DESC_A_SCALE, DESC_B_SCALE):
                told("cublasLtMatmulDescSetAttribute", self.operation, name, ctypes.c_void_p(row.one.data_ptr()))
            fast = ctypes.c_int8(row.accuracy == "fast")
            told("cublasLtMatmulDescSetAttribute", self.operation, DESC_FAST_ACCUM, fast)
        self.left, self.right = layout(row.form, left), layout(row.form, right)
        self.result = layout(self.out_form, result)
        lefts, rights = [b for _, b in row.operands], [a for a, _ in row.operands]
        self.preference = preference((alignment(lefts), alignment(rights), alignment(row.results["ours"])))
        self.one, self.none = ctypes.c_float(1.0), ctypes.c_float(0.0)
        self.workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=row.device)

    def listed(self) -> list[Heuristic]:
        """The library's list, the one it takes to be fastest first."""
        found, count = (Heuristic * LISTED)(), ctypes.c_int()
        checked(
            library().cublasLtMatmulAlgoGetHeuristic(
                handle(), self.operation, self.left, self.right, self.result, self.result, self.preference,
                LISTED, found, ctypes.byref(count),
            )
        )  # fmt: skip
        return [each for each in found[: count.value] if each.state == 0]

    def multiplying(self, by: Heuristic) -> Any:
        """A contender that multiplies by one algorithm."""

        def multiply(a: Any, b: Any, d: Any) -> None:
            stream = self.torch.cuda.current_stream().cuda_stream
            to = ctypes.c_void_p(d.data_ptr())
            checked(
                library().cublasLtMatmul(
                    handle(), self.operation, ctypes.byref(self.one), ctypes.c_void_p(b.data_ptr()), self.left,
                    ctypes.c_void_p(a.data_ptr()), self.right, ctypes.byref(self.none), to, self.result, to,
                    self.result, ctypes.byref(by.algorithm), ctypes.c_void_p(self.workspace.data_ptr()),
                    ctypes.c_size_t(WORKSPACE_BYTES), ctypes.c_void_p(stream),
                )
            )  # fmt: skip

        return multiply


def best(row: Row, seconds: float = SCAN_S) -> Best:
    """The fastest of the library's list for a row, whose contender `cublaslt` it becomes; raises RuntimeError."""
    if row.lying.batch > 1:
        raise RuntimeError("batches are not searched for")
    torch, setup = row.torch, Library(row)
    algorithms = setup.listed()
    if not algorithms:
        raise RuntimeError("cuBLASLt lists no algorithm")
    scanned: list[tuple[float, int]] = []
    until = time.monotonic() + seconds
    row.add("cublaslt", setup.multiplying(algorithms[0]))
    for place, algorithm in enumerate(algorithms):
        if time.monotonic() > until:
            break
        row.contenders["cublaslt"] = setup.multiplying(algorithm)
        taken = scan(torch, row, min(scanned, default=(1.0, 0))[0])
        if taken is not None:
            scanned.append((taken, place))
    if not scanned:
        raise RuntimeError("none of cuBLASLt's algorithms ran")
    winner = finalist(row, setup, algorithms, sorted(scanned)[:FINALISTS])
    row.contenders["cublaslt"] = setup.multiplying(algorithms[winner])
    return Best(row.contenders["cublaslt"], winner, len(scanned), len(algorithms))


def scan(torch: Any, row: Row, beaten: float) -> float | None:
    """Seconds of one multiplication by the contender as it is now; None where it refuses or is far behind."""
    call, *_ = calls = row.calls("cublaslt")
    try:
        call()
        torch.cuda.synchronize()
        alone = seconds_of(torch, call)
    except RuntimeError:
        return None
    if alone > LONG_S or alone > 3 * beaten + 2e-5:
        time.sleep(min(0.01, 2 * alone))
        return min(alone, seconds_of(torch, call)) if alone <= 1.5 * beaten else alone
    replay = captured(torch, calls, REPLAY_S)
    return min(replay.seconds, *(seconds_of(torch, replay.graph.replay) for _ in range(2))) / replay.count


def finalist(row: Row, setup: Library, algorithms: list[Heuristic], first: list[tuple[float, int]]) -> int:
    """The place of the fastest of a few, timed again in turn with pauses."""
    if len(first) == 1:
        return first[0][1]
    replays = {}
    for _, place in first:
        row.contenders["cublaslt"] = setup.multiplying(algorithms[place])
        replays[str(place)] = captured(row.torch, row.calls("cublaslt"))
    times = in_turn(row.torch, replays, rounds=3, pause=0.004)
    return int(min(times, key=lambda place: times[place].seconds))
