"""Small multiplications: by the plain reference until they are many, with the same bits."""

import numpy as np
import pytest

from gemmlab import numerics
from gemmlab.numerics.fast import running
from numerics.fast.inputs import problem


def test_one_large_call_or_many_small_ones_pay_for_compiled_code():
    assert not running.Small()(running.LOADED_AFTER)
    small = running.Small()
    asked = [small(1000) for _ in range(running.LOADED_AFTER // 1000 + 3)]
    assert asked == [True] * (running.LOADED_AFTER // 1000 - 1) + [False] * 4
    assert small(running.FEW - 1)
    assert not small(running.FEW)


def test_calls_too_small_for_compiled_code_never_pay_for_it():
    small = running.Small()
    assert all(small(running.FEW - 1) for _ in range(running.LOADED_AFTER))
    assert small(running.FEW)


@pytest.mark.parametrize("name", ["hopper.wgmma.bfloat16", "cuda.fma.float32", "cdna3.mfma.xf32", "hopper.mma.int8"])
def test_what_was_small_is_compiled_when_there_was_enough_of_it(name, monkeypatch):
    unit = numerics.unit(name)
    a, b, c, scales = problem(np.random.default_rng(3), unit, (4, 5, 2 * unit.k + 3), "sprinkled", "values")
    plain, calls = running.plainly, []
    monkeypatch.setattr(running, "plainly", lambda *given: calls.append(given) or plain(*given))
    first = running.chain(unit, a, b, c, scales, 1)
    assert len(calls) == 1
    monkeypatch.setattr(running.small, "asked", running.LOADED_AFTER)
    again = running.chain(unit, a, b, c, scales, 1)
    assert len(calls) == 1
    np.testing.assert_array_equal(first, again)
