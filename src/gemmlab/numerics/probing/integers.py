"""Integer units: exact sums, of which only the end of the range says more."""

from __future__ import annotations

from gemmlab import formats
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.probing.backend import Backend, Row
from gemmlab.numerics.probing.confirming import confirmed
from gemmlab.numerics.probing.evidence import Ambiguity, Evidence, Revealed
from gemmlab.numerics.probing.numbers import Numbers, code
from gemmlab.numerics.probing.structure import Structure

LONGEST = 256  # products of an instruction that are looked for


def integer_unit(backend: Backend, seed: int, confirm: int) -> Revealed:
    """The unit behind a backend of integers; whether it wraps, and where an instruction ends if it does not."""
    numbers = Numbers(backend.a_format, backend.b_format, backend.accumulate)
    top = formats.get(backend.accumulate).max_magnitude
    one = (code(1, backend.a_format) or 0, code(1, backend.b_format) or 0)
    evidence: list[Evidence] = []
    open_: dict[str, Ambiguity] = {}
    saturate, k = False, 1
    if backend.hidden:
        open_["saturate"] = Ambiguity((False, True), "C is hidden, and few products pass no end of the range")
    else:
        past = Row({0: one}, top, "C = 2^31 - 1, plus 1")
        d = int(backend.pairs(backend.rows([past]))[0])
        saturate = d == top
        evidence.append(Evidence("range", past.words, str(formats.decode(d, backend.accumulate)),
                                 "stops at the end of the range" if saturate else "wraps"))  # fmt: skip
    minus = code(-1, backend.a_format)
    if saturate and minus is not None:
        places = range(1, backend.k or LONGEST)
        rows = [Row({0: one, at: (minus, one[1])}, top) for at in places]
        seen = backend.pairs(backend.rows(rows)).tolist()
        k = 1 + max((at for at, found in zip(places, seen, strict=True) if found == top), default=0)
        evidence.append(Evidence("instruction", "C = 2^31 - 1, 1 at k = 0, -1 at k", f"cancels up to k = {k - 1}",
                                 f"{k} products an instruction"))  # fmt: skip
    else:
        open_["instruction_k"] = Ambiguity((k, 2 * k), "sums that wrap are the same in every order")
    unit = Unit(
        name="revealed", about="found out from its behaviour", a_formats=(backend.a_format,),
        b_formats=(backend.b_format,), accumulate=backend.accumulate, sum="integer", terms=k, saturate=saturate,
    )  # fmt: skip
    structure = Structure("fused", k, k, "ascending", "early")
    count, mismatches, difference, _ = confirmed(backend, numbers, structure, unit, seed, confirm)
    return Revealed(
        unit, backend.a_format, backend.b_format, tuple(evidence), open_, f"(c 0..{k - 1})" if k > 1 else "(c 0)",
        count, mismatches, difference, backend.asked, backend.calls, backend.hidden,
    )  # fmt: skip
