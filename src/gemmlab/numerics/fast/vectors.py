"""The kernel of aligned sums in LLVM's own vectors: every cut is a float32 product truncated to an integer.

A product of two significands of at most 24 bits together is exact in float32, and so is its scaling by a power of two.
The processor's truncating conversion then leaves just what the unit keeps of it, sign and all. What float32 can't
scale, sums whose largest exponent lies below LOWEST or above HIGHEST, is marked and left to another kernel.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from gemmlab.numerics.fast.jit import compiled
from gemmlab.numerics.fast.machine import machine

ROWS = 4  #: rows of A that share each load of B
LOWEST, HIGHEST = -60, 125  #: exponents of a sum within which float32 holds all products and scales
REAL = -2000  #: below it lies the exponent of a product with a zero
I32, I64, F32, F64 = ir.IntType(32), ir.IntType(64), ir.FloatType(), ir.DoubleType()
NAMES = (
    "ae", "av", "be", "bv", "run", "bad", "stride", "groups", "terms", "flush", "per", "late", "half", "small",
    "align_bits", "width", "min_exponent", "zero_exponent",
)  # fmt: skip
POINTERS = (types.int32, types.float32, types.int32, types.float32, types.float32, types.int32)


class Emitter:
    """LLVM instructions for one width of vectors; a name a value, so that they read as formulas."""

    def __init__(self, builder: Any, lanes: int, given: dict[str, Any]) -> None:
        self.b, self.lanes, self.given = builder, lanes, given
        self.ints, self.floats, self.doubles, self.longs, self.shorts = (
            ir.VectorType(kind, count)
            for kind, count in ((I32, lanes), (F32, lanes), (F64, lanes), (I64, lanes), (ir.IntType(16), 2 * lanes))
        )

    def splat(self, value: Any, kind: Any) -> Any:
        """A vector of one value: a Python number or an LLVM scalar."""
        if isinstance(value, int | float):
            return ir.Constant(kind, [value] * kind.count)
        first = self.b.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(I32, 0))
        zeros = ir.Constant(ir.VectorType(I32, kind.count), [0] * kind.count)
        return self.b.shuffle_vector(first, ir.Constant(kind, ir.Undefined), zeros)

    def number(self, name: str) -> Any:
        """One of the kernel's whole numbers in every lane."""
        return self.splat(self.b.trunc(self.given[name], I32), self.ints)

    def call(self, name: str, *args: Any) -> Any:
        """An LLVM intrinsic on vectors."""
        kind = args[0].type
        one = str(kind.element).replace("float", "f32").replace("double", "f64")
        spelled = f"llvm.{name}.v{kind.count}{one}"
        function = cgutils.get_or_insert_function(
            self.b.module, ir.FunctionType(kind, [each.type for each in args]), spelled
        )
        return self.b.call(function, args)

    def load(self, pointer: Any, at: Any, kind: Any) -> Any:
        """A vector from `at` elements behind a pointer."""
        place = self.b.gep(pointer, [at])
        loaded = self.b.load(self.b.bitcast(place, kind.as_pointer()))
        loaded.align = 4
        return loaded

    def store(self, value: Any, pointer: Any, at: Any) -> None:
        """A vector to `at` elements behind a pointer."""
        place = self.b.gep(pointer, [at])
        self.b.store(value, self.b.bitcast(place, value.type.as_pointer())).align = 4

    def power(self, exponent: Any) -> Any:
        """2**exponent as float32, of exponents in its normal range."""
        biased = self.b.add(exponent, self.splat(127, self.ints))
        return self.b.bitcast(self.b.shl(biased, self.splat(23, self.ints)), self.floats)

    def times(self, at: Any, factor: int) -> Any:
        """An index times a constant."""
        return self.b.mul(at, ir.Constant(I64, factor))


def chains(e: Emitter) -> None:
    """The chains of ROWS rows with one block of columns.

    ae, be: exponents of products' factors, two 16-bit ones of neighbouring k to a word; av, bv: factors as float32. A
    has ROWS rows `stride` k apart, of B each k holds a block. `run`, `bad` (ROWS, lanes) are C, which becomes D, and
    marks of what is not to be believed.
    """
    b, g = e.b, e.given
    state = {
        name: [cgutils.alloca_once(b, kind) for _ in range(ROWS)]
        for name, kind in (
            ("run", e.floats), ("held", e.floats), ("bad", e.ints), ("top", e.shorts), ("largest", e.ints),
            ("scale", e.floats), ("sum", e.ints), ("total", e.doubles),
        )
    }  # fmt: skip
    rows = range(ROWS)
    for r in rows:
        b.store(e.load(g["run"], ir.Constant(I64, r * e.lanes), e.floats), state["run"][r])
        b.store(e.splat(0, e.ints), state["bad"][r])
    late = b.icmp_signed("!=", g["late"], ir.Constant(I64, 0))
    with cgutils.for_range(b, g["groups"]) as loop:
        place = b.srem(loop.index, g["per"])
        first = b.mul(loop.index, g["terms"])
        with b.if_then(b.and_(late, b.icmp_signed("==", place, ir.Constant(I64, 0)))):
            for r in rows:
                b.store(b.load(state["run"][r]), state["held"][r])
                b.store(e.splat(0.0, e.floats), state["run"][r])
        largest_exponents(e, state, first)
        sums(e, state, first)
        for r in rows:
            finished(e, state, r)
        with b.if_then(b.and_(late, b.icmp_signed("==", b.add(place, ir.Constant(I64, 1)), g["per"]))):
            for r in rows:
                joined = b.fadd(b.load(state["held"][r]), b.load(state["run"][r]))
                b.store(b.fadd(joined, e.splat(0.0, e.floats)), state["run"][r])
                halved(e, state["run"][r])
    for r in rows:
        e.store(b.load(state["run"][r]), g["run"], ir.Constant(I64, r * e.lanes))
        e.store(b.load(state["bad"][r]), g["bad"], ir.Constant(I64, r * e.lanes))


def largest_exponents(e: Emitter, state: dict[str, Any], first: Any) -> None:
    """`largest`, the group's exponent, `scale`, 2**(align_bits - largest), and `bad` of every row."""
    b, g = e.b, e.given
    for r in range(ROWS):
        b.store(e.splat(-30000, e.shorts), state["top"][r])
    half = b.ashr(first, ir.Constant(I64, 1))
    with cgutils.for_range(b, b.ashr(g["terms"], ir.Constant(I64, 1))) as loop:
        at = b.add(half, loop.index)
        columns = b.bitcast(e.load(g["be"], e.times(at, e.lanes), e.ints), e.shorts)
        for r in range(ROWS):
            row = b.add(b.mul(b.ashr(g["stride"], ir.Constant(I64, 1)), ir.Constant(I64, r)), at)
            pair = b.bitcast(e.splat(b.load(b.gep(g["ae"], [row])), e.ints), e.shorts)
            b.store(e.call("smax", b.load(state["top"][r]), b.add(columns, pair)), state["top"][r])
    sixteen = e.splat(16, e.ints)
    for r in range(ROWS):
        both = b.bitcast(b.load(state["top"][r]), e.ints)
        products = e.call("smax", b.ashr(both, sixteen), b.ashr(b.shl(both, sixteen), sixteen))
        word = b.bitcast(b.load(state["run"][r]), e.ints)
        magnitude = b.and_(word, e.splat(0x7FFFFFFF, e.ints))
        exponent = b.sub(b.lshr(magnitude, e.splat(23, e.ints)), e.splat(127, e.ints))
        exponent = e.call("smax", exponent, e.number("min_exponent"))
        zero = b.icmp_signed("==", magnitude, e.splat(0, e.ints))
        exponent = b.select(zero, e.number("zero_exponent"), exponent)
        largest = e.call("smax", products, exponent)
        real = b.or_(b.icmp_signed(">", products, e.splat(REAL, e.ints)), b.not_(zero))
        low = b.and_(b.icmp_signed("<", largest, e.splat(LOWEST, e.ints)), real)
        bad = b.or_(low, b.icmp_signed(">", products, e.splat(HIGHEST, e.ints)))
        b.store(b.or_(b.load(state["bad"][r]), b.sext(bad, e.ints)), state["bad"][r])
        largest = e.call("smax", largest, e.splat(LOWEST, e.ints))
        largest = e.call("smin", largest, e.splat(128, e.ints))
        b.store(largest, state["largest"][r])
        b.store(e.power(b.sub(e.number("align_bits"), largest)), state["scale"][r])


def sums(e: Emitter, state: dict[str, Any], first: Any) -> None:
    """`sum` or, past what int32 holds, `total`: the addend and the products cut to align_bits."""
    b, g = e.b, e.given
    small = b.icmp_signed("!=", g["small"], ir.Constant(I64, 0))
    for r in range(ROWS):
        addend = b.fptosi(b.fmul(b.load(state["run"][r]), b.load(state["scale"][r])), e.ints)
        b.store(addend, state["sum"][r])
        b.store(b.sitofp(addend, e.doubles), state["total"][r])
    with cgutils.for_range_slice(b, ir.Constant(I64, 0), g["terms"], g["flush"], intp=I64) as (chunk, _):
        with b.if_then(b.not_(small)):
            for r in range(ROWS):
                b.store(e.splat(0, e.ints), state["sum"][r])
        count = b.sub(g["terms"], chunk)
        count = b.select(b.icmp_signed("<", count, g["flush"]), count, g["flush"])
        start = b.add(first, chunk)
        with cgutils.for_range(b, b.ashr(count, ir.Constant(I64, 1))) as loop:
            for odd in range(2):
                at = b.add(start, b.add(e.times(loop.index, 2), ir.Constant(I64, odd)))
                columns = e.load(g["bv"], e.times(at, e.lanes), e.floats)
                for r in range(ROWS):
                    row = b.add(b.mul(g["stride"], ir.Constant(I64, r)), at)
                    product = b.fmul(columns, e.splat(b.load(b.gep(g["av"], [row])), e.floats))
                    kept = b.fptosi(b.fmul(product, b.load(state["scale"][r])), e.ints)
                    b.store(b.add(b.load(state["sum"][r]), kept), state["sum"][r])
        with b.if_then(b.not_(small)):
            for r in range(ROWS):
                part = b.sitofp(b.load(state["sum"][r]), e.doubles)
                b.store(b.fadd(b.load(state["total"][r]), part), state["total"][r])


def finished(e: Emitter, state: dict[str, Any], r: int) -> None:
    """`run` of one row: the sum cut to its width, NaN and infinities staying what they were."""
    b, g = e.b, e.given
    zero = ir.Constant(I64, 0)
    rounded = cgutils.alloca_once(b, e.floats)
    with b.if_else(b.icmp_signed("!=", g["small"], zero)) as (then, other):
        with then:
            whole = b.bitcast(b.sitofp(b.load(state["sum"][r]), e.floats), e.ints)
            below = b.sub(e.splat(23, e.ints), e.number("width"))
            kept = b.and_(whole, b.shl(e.splat(-1, e.ints), below))
            b.store(b.bitcast(kept, e.floats), rounded)
        with other:
            # Of sums that another rounding follows, a last bit says that something was below it.
            odd = b.icmp_signed("!=", g["half"], zero)
            word = b.bitcast(b.load(state["total"][r]), e.longs)
            width = b.select(odd, ir.Constant(I64, 23), g["width"])
            mask = b.shl(e.splat(-1, e.longs), e.splat(b.sub(ir.Constant(I64, 52), width), e.longs))
            kept = b.and_(word, mask)
            lost = b.icmp_signed("!=", kept, word)
            sticky = e.splat(b.select(odd, ir.Constant(I64, 1 << 29), zero), e.longs)
            kept = b.or_(kept, b.select(lost, sticky, e.splat(0, e.longs)))
            b.store(b.fptrunc(b.bitcast(kept, e.doubles), e.floats), rounded)
    scale = e.power(b.sub(b.load(state["largest"][r]), e.number("align_bits")))
    value = b.fmul(b.load(rounded), scale)
    b.store(value, rounded)
    halved(e, rounded)
    # Adding +0 takes the sign off a zero.
    value = b.fadd(b.load(rounded), e.splat(0.0, e.floats))
    before = b.load(state["run"][r])
    magnitude = b.and_(b.bitcast(before, e.ints), e.splat(0x7FFFFFFF, e.ints))
    special = b.icmp_signed(">=", magnitude, e.splat(0x7F800000, e.ints))
    b.store(b.select(special, before, value), state["run"][r])


def halved(e: Emitter, place: Any) -> None:
    """What is at `place` rounded to nearest in float16, where that is the accumulator."""
    b = e.b
    if not machine().halves:
        return
    with b.if_then(b.icmp_signed("!=", e.given["half"], ir.Constant(I64, 0))):
        narrow = ir.VectorType(ir.HalfType(), e.lanes)
        b.store(b.fpext(b.fptrunc(b.load(place), narrow), e.floats), place)


@intrinsic
def address(typingctx: Any, array: Any, at: Any) -> Any:
    """A pointer to an array's element, by its place in memory."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.gep(context.make_array(signature.args[0])(context, builder, args[0]).data, [args[1]])

    return types.CPointer(array.dtype)(array, types.int64), codegen


def micro_kernel(lanes: int) -> Any:
    """`chains` for blocks of so many columns, to be called from numba's functions."""

    @intrinsic
    def kernel(typingctx: Any, ae: Any, av: Any, be: Any, bv: Any, run: Any, bad: Any, numbers: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            values = [*args[:6], *cgutils.unpack_tuple(builder, args[6])]
            chains(Emitter(builder, lanes, dict(zip(NAMES, values, strict=True))))
            return context.get_dummy_value()

        count = len(NAMES) - len(POINTERS)
        pointers = [types.CPointer(each) for each in POINTERS]
        return types.void(*pointers, types.UniTuple(types.int64, count)), codegen

    return kernel


kernel8, kernel16 = micro_kernel(8), micro_kernel(16)


@compiled
def columns8(
    left: int, right: int, first: int, last: int, tall: int, ae: Any, av: Any, be: Any, bv: Any, run: Any, bad: Any,
    numbers: Any,
) -> None:  # fmt: skip
    """The chains of rows `first` to `last` of `tall` with blocks `left` to `right` of 8 columns.

    All arrays in one dimension: A (rows, k), B (blocks, k, 8), run and bad (blocks, rows, 8).
    """
    inner = numbers[0]
    for block in range(left, right):
        for i in range(first, last, ROWS):
            out = (block * tall + i) * 8
            kernel8(
                address(ae, i * inner // 2), address(av, i * inner), address(be, block * inner * 4),
                address(bv, block * inner * 8), address(run, out), address(bad, out), numbers,
            )  # fmt: skip


@compiled
def columns16(
    left: int, right: int, first: int, last: int, tall: int, ae: Any, av: Any, be: Any, bv: Any, run: Any, bad: Any,
    numbers: Any,
) -> None:  # fmt: skip
    """The same with blocks of 16 columns."""
    inner = numbers[0]
    for block in range(left, right):
        for i in range(first, last, ROWS):
            out = (block * tall + i) * 16
            kernel16(
                address(ae, i * inner // 2), address(av, i * inner), address(be, block * inner * 8),
                address(bv, block * inner * 16), address(run, out), address(bad, out), numbers,
            )  # fmt: skip
