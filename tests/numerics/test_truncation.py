"""The truncation experiment on emulated units, on wrapped callables, and on backends that answer wrongly."""

import msgspec
import numpy as np
import pytest

from gemmlab import numerics
from gemmlab.numerics.truncation import cleared
from gemmlab.record import GemmlabError

HOPPER = numerics.unit("hopper.wgmma.float8_e4m3fn")


def like_hopper(**fields):
    return msgspec.structs.replace(HOPPER, name="mine", **fields)


@pytest.mark.parametrize(
    ("unit", "plateau"),
    [
        (HOPPER, 10),
        ("ampere.mma.float16", 0),
        (like_hopper(width=17, align_bits=25), 6),
        (like_hopper(align_bits=25), 10),
        (like_hopper(width=23), 7),
    ],
    ids=["e8m13", "float32", "17 bits", "25 bits of alignment stored in 13", "13 bits of alignment stored in 23"],
)
def test_the_plateau_tells_what_is_stored_not_what_is_aligned(unit, plateau):
    found = numerics.truncation_sweep(unit)
    assert found.plateau == plateau
    assert found.width_bits == 1 + 8 + 23 - plateau
    assert not found.contradicted
    assert any("alignment" in each for each in found.cannot_show)


@pytest.mark.parametrize("mode", ["outside", "chained"])
@pytest.mark.parametrize("action", ["mask", "round"])
@pytest.mark.parametrize("block_k", [32, 64, 128])
def test_hopper_shows_ten_in_every_variant(mode, action, block_k):
    assert numerics.truncation_sweep(HOPPER, mode=mode, action=action, block_k=block_k).plateau == 10


def test_float8_on_float16_tensor_cores_shows_float32():
    unit = "hopper.mma.float8_e4m3fn"
    assert numerics.truncation_sweep(unit, mode="chained").plateau == 0
    assert numerics.truncation_sweep(unit, mode="outside").plateau in (0, 1)


def test_counts_fall_past_the_plateau_and_say_of_how_many():
    found = numerics.truncation_sweep(HOPPER, shape=(16, 24, 256))
    assert found.outputs == 16 * 24
    assert found.unchanged[:11] == (found.outputs,) * 11
    assert found.unchanged[11] < found.outputs / 2
    assert found.fractions[0] == 1
    assert found.errors == tuple(sorted(found.errors))


def test_a_callable_and_one_without_c_give_what_the_unit_gives():
    unit = numerics.truncation_sweep(HOPPER)
    given = numerics.truncation_sweep(lambda a, b, c: numerics.mma(HOPPER, a, b, c), "float8_e4m3fn")
    hidden = numerics.truncation_sweep(lambda a, b: numerics.mma(HOPPER, a, b), "float8_e4m3fn")
    assert unit.unchanged == given.unchanged == hidden.unchanged
    with pytest.raises(GemmlabError, match="takes no C"):
        numerics.truncation_sweep(lambda a, b: numerics.mma(HOPPER, a, b), "float8_e4m3fn", mode="chained")


class Swept:
    """A backend that clears bits by itself, as a GPU kernel does."""

    def __init__(self, last):
        self.last = last
        self.asked = []

    def swept(self, a, b, bits, *, block_k, mode, action):
        self.asked.append((bits, block_k, mode, action))
        d = np.asarray(a, np.float32) @ np.asarray(b, np.float32)
        return self.last(d, bits)


def test_a_backend_that_masks_by_itself_is_asked_every_step():
    backend = Swept(lambda d, bits: cleared(d, bits, "mask"))
    found = numerics.truncation_sweep(backend, "float16", bits=[3, 1], block_k=64, mode="chained", action="round")
    assert backend.asked == [(bits, 64, "chained", "round") for bits in (0, 1, 3)]
    assert found.bits == (0, 1, 3)
    assert found.plateau == 0


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (lambda d, bits: d if bits == 0 else np.zeros_like(d), "with 1 bits cleared"),
        (lambda d, bits: np.zeros_like(d), "with 0 bits cleared"),
        (lambda d, bits: d if bits < 4 else np.full_like(d, np.nan), "with 4 bits cleared"),
        (lambda d, bits: d if bits < 9 else d * np.float32(1.5), "with 9 bits cleared"),
    ],
    ids=["zeros once masked", "zeros", "NaN from 4", "half too much from 9"],
)
def test_what_float64_contradicts_has_no_plateau(last, said):
    found = numerics.truncation_sweep(Swept(last), "float16")
    assert found.contradicted.startswith(said)
    assert found.plateau is None
    assert found.width_bits is None


def test_every_count_of_cleared_bits_is_within_its_bound_on_a_right_backend():
    for mode in ("outside", "chained"):
        assert not numerics.truncation_sweep("volta.mma.float16", mode=mode).contradicted


def test_clearing_rounds_halves_away_from_zero():
    values = np.array([1.0, 1 + 2.0**-23, -1 - 2.0**-22, 1 + 2.0**-21], np.float32)
    assert cleared(values, 2, "mask").tolist() == [1.0, 1.0, -1.0, 1 + 2.0**-21]
    assert cleared(values, 2, "round").tolist() == [1.0, 1.0, -1 - 2.0**-21, 1 + 2.0**-21]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"mode": "inside"}, "mode"),
        ({"action": "floor"}, "action"),
        ({"bits": [24]}, "bits from 0 to 24"),
        ({"block_k": 0}, "block_k = 0"),
    ],
)
def test_bad_arguments_are_refused(arguments, said):
    with pytest.raises(GemmlabError, match=said):
        numerics.truncation_sweep(HOPPER, **arguments)


def test_other_accumulators_are_refused():
    with pytest.raises(GemmlabError, match="accumulates in float16"):
        numerics.truncation_sweep("hopper.mma.float16.float16")
    with pytest.raises(GemmlabError, match="returned float64"):
        numerics.truncation_sweep(lambda a, b, c: np.asarray(a, np.float64) @ np.asarray(b, np.float64), "float16")
