"""An array that cannot be built is refused with the value and the remedy."""

import pytest

from gemmlab.record import GemmlabError
from gemmlab.systolic import Array


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"rows": 0}, "rows=0"),
        ({"cols": -3}, "cols=-3"),
        ({"rows": 100_000}, "rows=100000"),
        ({"cols": 2.5}, "cols=2.5"),
        ({"cols": True}, "cols=True"),
        ({"dataflow": "rs"}, "unknown dataflow `rs`"),
        ({"weights": "triple"}, "unknown weights `triple`"),
        ({"drain": "top"}, "unknown drain `top`"),
        ({"edges": "round"}, "unknown edges `round`"),
        ({"accumulators": 0}, "accumulators=0"),
        ({"accumulators": 127}, "127 accumulators a column hold less than one tile of 128 rows"),
        ({"accumulators": 200, "dataflow": "os", "drain": "shadow"}, "twice over with shadow registers"),
        ({"sram_bytes": -1}, "sram_bytes=-1"),
        ({"clock_hz": 0}, "clock_hz=0"),
        ({"clock_hz": float("nan")}, "clock_hz=nan"),
        ({"clock_hz": 7e8, "dram_bytes_per_s": float("inf")}, "dram_bytes_per_s=inf"),
        ({"dram_bytes_per_s": 34e9}, "without a clock"),
        ({"resident": ("d",)}, "unknown operand `d`"),
        ({"multiplier_bits": 0}, "multiplier_bits=0"),
    ],
)
def test_what_cannot_be_built(fields, said):
    with pytest.raises(GemmlabError) as caught:
        Array(**fields)
    assert said in caught.value.text
    assert caught.value.hint


def test_a_copy_is_checked_too():
    array = Array(accumulators=128)
    assert array.replace(rows=64).sums_of_a_tile == 64
    with pytest.raises(GemmlabError, match="less than one tile"):
        array.replace(rows=129)
