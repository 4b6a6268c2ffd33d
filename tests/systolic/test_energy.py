"""Energy is counts times a table that carries its source; what a table lacks is said."""

import math

import pytest

from gemmlab.record import GemmlabError
from gemmlab.systolic.energy import DEFAULT, EnergyTable, Use, Work, charge, names, table

OWN = """
source = "synthesis of this week"
node = "16 nm, 0.8 V"
multiply_pj = { int8 = 0.1 }
add_pj = { int32 = 0.02 }
access_bits = 32
sram_pj = [[1024, 1.0], [65536, 3.0]]
dram_pj = [100.0, 100.0]
"""


def work(**fields):
    base = {
        "macs": 1000,
        "operands": "int8",
        "sums": "int32",
        "from_sram": (Use("A out of SRAM", 800, 1 << 20),),
        "others": (Use("DRAM", 80, None),),
        "bytes_per_mac": 2.0,
    }
    return Work(**(base | fields))


def test_published_figures():
    found = table(DEFAULT)
    assert (found.multiply_pj["int8"], found.add_pj["int32"]) == (0.2, 0.1)
    assert "Horowitz" in found.source
    assert "45 nm" in found.node
    assert found.sram_j(8 << 10) == pytest.approx(10e-12 / 8)
    assert found.sram_j((8 << 10) + 1) == pytest.approx(20e-12 / 8)
    assert found.sram_j(1 << 40) == pytest.approx(100e-12 / 8)  # larger memories are built of the largest
    assert found.dram_j() == pytest.approx((1300e-12 / 8, 2600e-12 / 8))


@pytest.mark.parametrize("name", names())
def test_a_table_is_never_without_source_and_node(name):
    found = table(name)
    assert found.name == name
    assert len(found.source) > 10
    assert "nm" in found.node


def test_a_charge_by_hand():
    found = charge(table(DEFAULT), work())
    arithmetic, sram, dram = 1000 * 0.3e-12, 800 * 12.5e-12, 80 * 162.5e-12
    assert found.energy_j == pytest.approx(arithmetic + sram + dram)
    assert found.energy_high_j == pytest.approx(arithmetic + sram + 2 * dram)
    assert found.no_reuse_j == pytest.approx(arithmetic + 2000 * 12.5e-12 + dram)
    assert math.fsum(term.energy_j for term in found.terms) == pytest.approx(found.energy_j)
    assert (found.table, found.node) == (DEFAULT, "45 nm, 0.9 V")


def test_a_format_with_a_stand_in_says_so():
    found = charge(table(DEFAULT), work(operands="bfloat16", sums="float32"))
    assert found.terms[0].what == "multiplying bfloat16 as float16"
    assert found.terms[0].energy_j == pytest.approx(1000 * 1.1e-12)


def test_a_format_that_the_table_lacks_is_left_out_and_said():
    found = charge(table(DEFAULT), work(operands="int16"))
    assert "multiplying in int16, which the table does not have" in found.left_out
    assert all("multiplying" not in term.what for term in found.terms)


def test_ones_own_table(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    found = charge(table(str(path)), work())
    assert found.table == str(path)
    assert found.energy_j == pytest.approx(1000 * 0.12e-12 + 800 * 3e-12 / 4 + 80 * 100e-12 / 4)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("= 0.1 ", "= -0.1 "), "picojoules"),
        (("[[1024, 1.0], [65536, 3.0]]", "[]"), "sram_pj"),
        (("[[1024, 1.0], [65536, 3.0]]", "[[65536, 3.0], [1024, 1.0]]"), "smallest first"),
        (("[100.0, 100.0]", "[100.0, 10.0]"), "lower end"),
        (("node", "nod"), "nod"),
        (("access_bits = 32", "access_bits = "), "access_bits|value"),
        (("0.02", '"free"'), "add_pj"),
    ],
)
def test_a_broken_table_is_refused(tmp_path, change, said):
    path = tmp_path / "own.toml"
    path.write_text(OWN.replace(*change))
    with pytest.raises(GemmlabError, match=said) as raised:
        table(str(path))
    assert "source" in raised.value.hint


@pytest.mark.parametrize("name", ["horowitz", "missing.toml", "."])
def test_an_unknown_table(name):
    with pytest.raises(GemmlabError):
        table(name)


def test_no_memory_costs_less_than_a_smaller_one():
    found = table(DEFAULT)
    assert isinstance(found, EnergyTable)
    each = [found.sram_j(size) for size in (1, 8192, 8193, 32769, 1 << 30)]
    assert each == sorted(each)
