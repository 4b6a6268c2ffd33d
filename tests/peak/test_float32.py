"""float32 as two float16, as far as it can be held without a GPU: the kernel's forms, and what is compiled of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels import machine_code

from gemmlab.peak import float32
from gemmlab.peak.float32 import MOST_K, split, split_form
from gemmlab.peak.stored import Stored
from gemmlab.record import GemmlabError

LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096, 4160, 8192, 16384, 16448)
TURNED = ((False, False), (False, True), (True, False), (True, True))


@given(st.integers(1, 1 << 18).map(lambda chunk: 64 * chunk), st.sampled_from(TURNED), st.integers(1, 10**6))
def test_every_row_is_held_or_read_twice(padded, turned, rows):
    form = split_form(padded, *turned)
    if not form.looped:
        assert all(turned) or 4 * form.team * form.held >= padded
        assert not any(turned) or form.threads // 32 * form.deep * form.cluster >= padded
    assert form.threads % form.team == 0
    for side in set(turned):
        blocks = form.blocks(rows, turned=side)
        assert blocks % form.cluster == 0
        at_a_time = 32 / form.cluster if side else form.threads / form.team
        assert blocks * at_a_time >= rows > (blocks - form.cluster) * at_a_time


def test_rows_that_fit_registers_are_read_once():
    assert not any(split_form(padded, False, False).looped for padded in LENGTHS if padded <= 16384)
    assert not any(split_form(padded, True, True).looped for padded in LENGTHS if padded <= 16384)
    assert split_form(16448, False, False).looped
    assert split_form(16448, True, True).looped


@pytest.mark.parametrize("padded", [64, 2048, 4096, 4160, 16448])  # the shortest, and those that fill their registers
@pytest.mark.parametrize("turned", [each for each in TURNED if each != (True, False)])
def test_the_split_reads_and_writes_wide_and_does_not_spill(padded, turned, tmp_path):
    machine_code.need("cuda.bindings")
    from gemmlab.kernels.nvrtc import compiled

    text, headers = split_form(padded, *turned).text()
    opcodes, usage = machine_code.read(compiled(text, headers=headers).code, tmp_path)
    assert not usage.stack
    assert not usage.local
    assert not [opcode for opcode in opcodes if opcode.startswith(("LDL", "STL"))]
    loads, stores = ([each for each in opcodes if each.startswith(name)] for name in ("LDG", "STG"))
    if not all(turned):
        assert machine_code.having(loads, "128")
        assert machine_code.having(stores, "64")
    if any(turned):
        assert machine_code.having(stores, "128")
    assert "ACQBULK" in opcodes  # it waits for the kernel before it


def test_a_k_that_the_copy_engine_cannot_address_is_refused():
    far = Stored(1 << 20, 1, MOST_K + 1, MOST_K + 1, 4, along_k=True)
    with pytest.raises(GemmlabError, match="k="):
        split(far, far, MOST_K + 1, None, 0)
    assert 2 * float32.round_up(MOST_K, 64) <= 1 << 31
