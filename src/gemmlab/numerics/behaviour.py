"""What one matrix unit does with a dot product: a few widths and rules, as data."""

from __future__ import annotations

from typing import Any

import msgspec

from gemmlab import formats
from gemmlab.record import GemmlabError, unknown_name

SUMS = ("aligned", "exact", "pairs", "integer")
ORDERS = ("ascending", "quads", "parity")
ROUNDINGS = ("rz", "rne", "rna", "floor")
JOINS = ("early", "late", "floor")
ACCUMULATORS = ("float32", "float16", "float64", "int32")
ZEROS = ("positive", "ieee", "rounded")
NANS = ("fixed", "ieee")
LONGEST = 1 << 16  #: products of one instruction, far past any that is built
FARTHEST = 2500  #: magnitude of a zero's exponent: past the product of any two operands and their scales


class Unit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a matrix unit computes d = sum_k a[k] * b[k] + c, to the bit.

    An instruction takes `instruction_k` products. Products are exact, their exponent is the sum of the operands'
    exponents (not renormalised: the significand lies in [1, 4)). Groups of `terms` products, chosen by `order`, are
    summed at once; each group's sum is rounded once to `width` fraction bits in the range of `accumulate`, and goes on
    as the next group's addend.
    """

    name: str  #: <architecture>.<instruction>.<operand format>, with `.float16` behind for a float16 accumulator
    about: str = ""  #: the instruction, in words
    a_formats: tuple[str, ...]  #: what A may hold, by ml_dtypes' names
    b_formats: tuple[str, ...]  #: what B may hold; any pair with A's is taken
    accumulate: str = "float32"  #: format of C and D: float32, float16, float64 or int32
    sum: str = "aligned"  #: how a group is added: `aligned`, `exact`, `pairs` of rounded sums, or `integer`
    terms: int = 1  #: products of one fused sum
    instruction_k: int = 0  #: products of one instruction; 0 is the same as `terms`
    order: str = "ascending"  #: of k inside an instruction; `quads`: k%4 < 2 first; `parity`: even and odd k apart
    align_bits: int = 0  #: fraction bits kept below the group's largest exponent; of `aligned` sums
    cut: str = "rz"  #: how what lies below `align_bits` goes: rz, rne, rna or floor
    width: int = 23  #: fraction bits that a rounded sum keeps, at most the mantissa of `accumulate`
    rounding: str = "rz"  #: of the sum to `width`
    c: str = "early"  #: C joins: `early` in the first group, `late` by an addition at the instruction's end, `floor`
    c_rounding: str = "rne"  #: of that late addition
    join_bits: int = 0  #: of `floor`: fraction bits of the joined sum before it is rounded
    zero_exponent: int | None = None  #: exponent that a zero term counts with; None: it does not count
    scale_formats: tuple[str, ...] = ()  #: formats of block scales; empty where the unit takes none
    scale_block: int = 0  #: elements along k that share a scale
    exact_terms: int = 1  #: products summed exactly before they are scaled and aligned, under the scales' exponent
    read_as: str = ""  #: format that operands are converted to first, exactly; empty where they are read as they are
    subnormal_inputs: bool = True  #: False: a subnormal operand or C counts as zero
    zero_sign: bool = True  #: False: a zero operand or C, flushed or not, counts as +0
    subnormal_outputs: bool = True  #: False: a subnormal sum becomes zero
    product_overflow: bool = False  #: a product past float32's range is an infinity by itself
    saturate: bool = False  #: of integer sums: an instruction's result stops at the range's ends instead of wrapping
    nan: str = "fixed"  #: `fixed`: every NaN result is `nan_code`; `ieee`: some NaN, payload not promised
    nan_code: int = -1  #: code of a NaN result; left out: all ones behind the sign, as CUDA's
    negative_zero: str = "positive"  #: -0 results: none; as `ieee` says; only what a negative sum was `rounded` to
    sass: tuple[str, ...] = ()  #: opcodes that this unit's instructions show as in machine code
    source: str = ""  #: where the fields come from
    silicon: str = ""  #: on which chips they were checked, to the bit; empty where on none
    assumed: bool = False  #: the vendor publishes nothing and nobody has measured it here

    def __post_init__(self) -> None:
        """Raise GemmlabError for fields that contradict each other, so that every Unit can be computed."""
        if self.nan_code == -1 and self.accumulate in ACCUMULATORS:
            form = formats.get(self.accumulate)
            ones = (1 << (form.bits - 1)) - 1 if form.kind == "float" else 0
            msgspec.structs.force_setattr(self, "nan_code", ones)
        check(self)

    @property
    def k(self) -> int:
        """Products of one instruction."""
        return self.instruction_k or self.terms

    @property
    def scaled(self) -> bool:
        """Whether it takes block scales."""
        return bool(self.scale_formats)

    @property
    def width_bits(self) -> int:
        """Bits of the accumulator: sign, exponent and kept fraction (22 for e8m13); of int32, 32."""
        form = formats.get(self.accumulate)
        return form.bits if form.kind == "int" else 1 + form.exponent_bits + self.width


def check(unit: Unit) -> None:
    """Raise GemmlabError where a field's value is none, or two contradict each other."""
    for what, given, known in (
        ("sum", unit.sum, SUMS),
        ("order", unit.order, ORDERS),
        ("cut", unit.cut, ROUNDINGS),
        ("rounding", unit.rounding, ROUNDINGS),
        ("c_rounding", unit.c_rounding, ROUNDINGS),
        ("c", unit.c, JOINS),
        ("accumulate", unit.accumulate, ACCUMULATORS),
        ("negative_zero", unit.negative_zero, ZEROS),
        ("nan", unit.nan, NANS),
    ):
        if given not in known:
            raise unknown_name(f"value of {what}", given, known)
    for name in (*unit.a_formats, *unit.b_formats, *unit.scale_formats, *filter(None, [unit.read_as])):
        formats.get(name)
    whole = formats.get(unit.accumulate)
    taken = dict.fromkeys((*unit.a_formats, *unit.b_formats))
    unread = [name for name in taken if unit.read_as and not holds(unit.read_as, name)]
    integers = {formats.get(name).kind for name in (*unit.a_formats, *unit.b_formats)} == {"int"}
    for wrong, said, hint in (
        (not unit.name, "a unit needs a name", 'name = "mine"'),
        (not unit.a_formats or not unit.b_formats, f"{unit.name} names no operand format", 'a_formats = ["float16"]'),
        (not 1 <= unit.terms <= 1024, f"{unit.name}: terms = {unit.terms}", "from 1 to 1024"),
        (not 1 <= unit.k <= LONGEST or unit.k % max(unit.terms, 1),
         f"{unit.name}: instruction_k = {unit.k}", f"a multiple of {unit.terms}, up to {LONGEST}"),
        ((unit.sum == "integer") != integers or integers != (whole.kind == "int"), f"{unit.name}: sum = {unit.sum}, "
         f"accumulate = {unit.accumulate}", "integer formats, an int32 accumulator and integer sums go together"),
        (unit.sum != "integer" and not 1 <= unit.width <= whole.mantissa_bits, f"{unit.name}: width = {unit.width}",
         f"1 to {whole.mantissa_bits} fraction bits with accumulate = {unit.accumulate}; float64 holds up to 52"),
        (unit.sum == "aligned" and not 1 <= unit.align_bits <= 100, f"{unit.name}: align_bits = {unit.align_bits}",
         "from 1 to 100 for an aligned sum"),
        (unit.sum != "aligned" and unit.align_bits != 0, f"{unit.name}: align_bits with sum = {unit.sum}",
         "leave it out, or sum = aligned"),
        (unit.c == "floor" and (unit.sum != "aligned" or unit.join_bits < unit.align_bits),
         f"{unit.name}: c = floor with join_bits = {unit.join_bits}", "an aligned sum, join_bits at least align_bits"),
        (not 0 <= unit.join_bits <= 128, f"{unit.name}: join_bits = {unit.join_bits}", "from 0 to 128"),
        (not -FARTHEST <= (unit.zero_exponent or 0) <= FARTHEST,
         f"{unit.name}: zero_exponent = {unit.zero_exponent}", f"from {-FARTHEST} to {FARTHEST}"),
        (bool(unread), f"{unit.name}: read_as = {unit.read_as}, which does not hold every {', '.join(unread)}",
         "a float format with their fraction bits, range, sign and infinities"),
        (any(formats.get(name).kind == "int" for name in unit.scale_formats),
         f"{unit.name}: scales of {', '.join(unit.scale_formats)}", "a float format such as float8_e8m0fnu"),
        (unit.order == "quads" and unit.k % 4, f"{unit.name}: order = quads with k = {unit.k}", "k a multiple of 4"),
        (unit.order == "parity" and unit.k % max(2 * unit.terms, 2),
         f"{unit.name}: order = parity with k = {unit.k}", f"a multiple of {2 * unit.terms}, for whole sums of both"),
        (unit.order == "parity" and unit.c == "early", f"{unit.name}: order = parity with c = early", 'c = "late"'),
        (unit.sum == "pairs" and (unit.terms & (unit.terms - 1) or unit.terms < 2),
         f"{unit.name}: pairs of {unit.terms}", "terms a power of two from 2"),
        (unit.scaled != (unit.scale_block > 0), f"{unit.name}: scale_block = {unit.scale_block}",
         "scale_formats and scale_block go together"),
        (unit.scaled and (unit.k % max(unit.scale_block, 1) or unit.scale_block % max(unit.exact_terms, 1)),
         f"{unit.name}: scale_block = {unit.scale_block}", "it divides instruction_k, exact_terms divides it"),
        (unit.scaled and (unit.sum not in ("aligned", "exact") or unit.c == "floor"),
         f"{unit.name}: block scales with sum = {unit.sum}, c = {unit.c}", "an aligned or exact sum, c early or late"),
        (unit.scaled and unit.product_overflow, f"{unit.name}: product_overflow with block scales", "one of them"),
        (unit.exact_terms < 1 or (unit.exact_terms > 1 and (not unit.scaled or unit.terms % unit.exact_terms)),
         f"{unit.name}: exact_terms = {unit.exact_terms}", "of a scaled unit, and it divides terms"),
        (unit.exact_terms > 1 and unit.order != "ascending",
         f"{unit.name}: exact_terms = {unit.exact_terms} with order = {unit.order}", "neighbours in k under one scale"),
        (unit.saturate and unit.sum != "integer", f"{unit.name}: saturate with sum = {unit.sum}", "integer sums only"),
        (not 0 <= unit.nan_code < 1 << whole.storage_bits, f"{unit.name}: nan_code = {unit.nan_code}",
         f"a code of {unit.accumulate}"),
    ):  # fmt: skip
        if wrong:
            raise GemmlabError(said, hint)


def holds(wide: str, name: str) -> bool:
    """Whether a format, with gradual underflow, has every value of another, infinities too."""
    outer, inner = formats.get(wide), formats.get(name)
    if wide == name or inner.kind == "int" or outer.kind == "int" or not outer.subnormals:
        return wide == name
    least = [form.min_exponent - form.mantissa_bits * form.subnormals for form in (outer, inner)]
    most = [formats.decode(form.max_magnitude << form.pad_bits, form.name) for form in (outer, inner)]
    return (
        outer.mantissa_bits >= inner.mantissa_bits
        and least[0] <= least[1]
        and most[0] >= most[1]
        and outer.signed >= inner.signed
        and outer.infinity >= inner.infinity
    )


def groups(unit: Unit) -> list[list[int]]:
    """The k of one instruction, in the order they are summed: one list a fused sum, offsets from its first product.

    With `parity` the groups of even k come first, those of odd k after; the two halves start from zero each.
    """
    if unit.order == "ascending":
        walk = list(range(unit.k))
    elif unit.order == "quads":
        walk = [k for k in range(unit.k) if k % 4 < 2] + [k for k in range(unit.k) if k % 4 >= 2]
    else:
        walk = [*range(0, unit.k, 2), *range(1, unit.k, 2)]
    return [walk[at : at + unit.terms] for at in range(0, unit.k, unit.terms)]


def from_toml(text: str, path: str) -> Unit:
    """A designer's own unit out of a TOML file with the fields of `Unit`; raises GemmlabError naming file and field."""
    import tomllib

    try:
        fields: dict[str, Any] = tomllib.loads(text)
        if "name" not in fields:
            fields["name"] = path.rsplit("/", 1)[-1].removesuffix(".toml")
        return msgspec.convert(fields, Unit)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise GemmlabError(f"{path} is no unit: {error}", "gemmlab numerics units NAME --toml prints one") from None
