"""A chip's own constants, and those that no chip can have."""

import pytest

from gemmlab.chips import load
from gemmlab.chips.files import parse
from gemmlab.model.constants import GENERIC, constants_of
from gemmlab.record import GemmlabError


def calibrated(line):
    return parse(f'base = "h200-sxm"\n[calibration.constants]\n{line}\n', "mine.toml")


def test_a_chip_without_calibration_has_the_generic_ones():
    assert constants_of(load("l4")) is GENERIC


def test_a_file_changes_one_constant():
    assert constants_of(calibrated("dram_share = 0.5")).dram_share == 0.5
    assert constants_of(calibrated('"sustained.float16" = 0.5')).sustained["float16"] == 0.5


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("dram_share = 0", "`dram_share`"),
        ("dram_share = -1", "is -1"),
        ("launch_s = nan", "nan is no figure"),
        ("launch_s = inf", "inf is no figure"),
        ("overlap_norm = 0", "from 1 to 32"),
        ("l2_ways = 1e10", "from 1 to 1024"),
        ("dram_shaer = 0.9", "unknown constant"),
        ('"sustainde.float16" = 0.9', "unknown constant"),
        ('"burst.float16" = 0', "`burst.float16`"),
        ("sustained = 0.9", "unknown constant"),
    ],
)
def test_what_no_chip_can_have_is_refused(line, words):
    with pytest.raises(GemmlabError, match="calibration") as caught:
        constants_of(calibrated(line))
    assert words in caught.value.text
