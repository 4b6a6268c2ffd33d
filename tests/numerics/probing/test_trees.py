"""Trees measured from behaviour against the order that the unit's own groups have."""

import numpy as np
import pytest

from gemmlab import numerics
from gemmlab.numerics.probing import nested
from gemmlab.numerics.probing.trees import text
from gemmlab.record import GemmlabError


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("volta.mma.float16", "((c 0..3) 4..7)"),
        ("hopper.mma.float16", "((c 0..15) 16..31)"),
        ("hopper.mma.float8_e4m3fn", None),
        ("cdna2.mfma.float16", None),
        ("amx.tdp.bfloat16", None),
    ],
)
def test_what_is_measured_is_what_the_unit_does(name, expected):
    unit = numerics.unit(name)
    k = 2 * unit.k if unit.k < 32 else unit.k
    measured = text(numerics.tree(unit, k=k))
    assert measured == nested(unit, k)
    if expected is not None:
        assert measured == expected


def test_numpy_in_float32_one_after_another():
    def chain(a, b, c):
        d = c.copy()
        for k in range(a.shape[1]):
            d = d + a[:, k : k + 1] * b[k : k + 1]
        return d

    assert text(numerics.tree(chain, "float32", k=9)) == "[c > 0 > 1 > 2 > .. > 8]"


def test_halves_by_themselves():
    def halves(a, b):
        products = (a[:, :, None] * b[None]).astype(np.float32)
        return (products[:, 0] + products[:, 1]) + (products[:, 2] + products[:, 3])

    assert numerics.tree(halves, "float32", k=4) == [[0, 1], [2, 3]]


def test_a_range_too_small_is_refused():
    with pytest.raises(GemmlabError, match="nothing is lost"):
        numerics.tree("blackwell.tcgen05.float4_e2m1fn", k=8)
