"""The rungs in CUDA C++: what the compiler makes of them for Hopper, and that their twins load the same."""

import numpy as np
import pytest

from gemmlab import kernels
from gemmlab.count import count
from gemmlab.emulator import emulate
from gemmlab.kernels.ladder import RUNGS, load
from gemmlab.kernels.ladder.cuda import TEXTS
from gemmlab.kernels.ladder.cuda.texts import WARP_TILES, warp_tile
from gemmlab.problem import Gemm
from kernels.machine_code import SHARED_LIMIT, having, read

REGISTERS_OF_SM = 65_536


def compiled(text, wide):
    pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed")
    from gemmlab.record import GemmlabError
    from gemmlab.run.backends.cuda.text import compiled as by_nvrtc

    try:
        return by_nvrtc(text.source(wide), (9, 0))[0]
    except GemmlabError:
        pytest.skip("NVRTC is not installed")


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_has_a_twin_of_the_same_tile_and_threads(name):
    assert RUNGS[name].tile == TEXTS[name].tile
    assert RUNGS[name].block == TEXTS[name].block
    assert RUNGS[name].launch(1000, 3000)[0] == TEXTS[name].grid(1000, 3000)


@pytest.mark.parametrize("size", WARP_TILES)
def test_every_size_fits_a_multiprocessor(size):
    text = warp_tile(WARP_TILES[size])
    blocks = text.sizes["BLOCKS"]
    assert blocks * (text.dynamic_shared_bytes + 1024) <= SHARED_LIMIT + 1024
    assert np.prod(text.block) in (128, 256)


@pytest.mark.parametrize("wide", [4, 1])
@pytest.mark.parametrize("name", TEXTS)
def test_machine_code_has_wide_loads_and_no_spills(name, wide, tmp_path):
    text = TEXTS[name]
    opcodes, registers = read(compiled(text, wide), tmp_path)
    assert having(opcodes, "LDL") == having(opcodes, "STL") == 0
    assert registers * np.prod(text.block) * text.sizes.get("BLOCKS", 2) <= REGISTERS_OF_SM
    assert having(opcodes, "LDS", "128") > 0
    if name == "vectorised":
        assert having(opcodes, "LDG", "128") == (2 if wide == 4 else 0)
        assert having(opcodes, "STG", "128") == (16 if wide == 4 else 0)
    else:
        assert having(opcodes, "LDGSTS", "128") > 0 if wide == 4 else having(opcodes, "LDGSTS", "128") == 0
        assert having(opcodes, "LDGSTS") > 0
        # a step of k: 6 loads of 16 bytes feed 128 multiplications
        assert having(opcodes, "FFMA") == text.sizes["BK"] * 128
        assert having(opcodes, "LDS", "128") == (text.sizes["BK"] + 1) * 6


@pytest.mark.parametrize("shape", [(130, 131, 37), (1, 1, 1), (128, 256, 32), (5, 300, 17)], ids=str)
@pytest.mark.parametrize("name", TEXTS)
def test_a_twin_multiplies_and_loads_each_element_once_a_block(name, shape):
    m, n, k = shape
    random = np.random.default_rng(m)
    a, b = random.integers(-3, 4, (m, k)).astype(np.float32), random.integers(-3, 4, (k, n)).astype(np.float32)
    c = np.full((m, n), np.nan, np.float32)
    rung = RUNGS[name]
    found = emulate(load(rung.source), *rung.launch(m, n), a, b, c, outputs=("c",), fill="nan", threads=1)
    assert found.ok
    assert (c == a @ b).all()
    problem = Gemm(m, n, k)
    expected = count(problem, kernels.get(rung.counted_by, problem=problem, **rung.settings))
    assert found.global_load.elements == expected.global_load_elements
    assert found.global_store.bytes == expected.global_store_bytes


def test_the_warp_tiles_lanes_read_without_conflicts():
    """32 lanes in 8 x 4: every 4-byte load of the twin is one wavefront, and so is every store of A's tile."""
    a, b, c = (np.ones((128, 128), np.float32) for _ in range(3))
    rung = RUNGS["warp_tile"]
    found = emulate(load(rung.source), *rung.launch(128, 128), a, b, c, prove=False, threads=1)
    assert found.shared_load.bank_conflicts == 0
    assert found.shared_load.wavefronts == found.shared_load.requests
    # a warp stores 32 elements of A at a time; four of B follow each other in a thread, as one store of 16 bytes would
    stores_of_b = 128 * 128 // 32
    assert found.shared_store.bank_conflicts == 3 * stores_of_b


@pytest.mark.parametrize("lanes", [("m", 8), ("n", 4)])
def test_sixteen_byte_loads_of_a_warp_meet_in_pairs(lanes):
    """The rule of an H200's counters: a 16-byte load takes 2 wavefronts where neighbours, or lanes two apart, agree."""
    letter, count_of = lanes
    own = [(lane // 2 % 2 + lane // 8 * 2) if letter == "m" else (lane % 2 + lane // 4 % 2 * 2) for lane in range(32)]
    assert sorted(set(own)) == list(range(count_of))
    partner = 1 if letter == "m" else 2
    assert all(own[lane] == own[lane ^ partner] for lane in range(32))
    for half in (own[:16], own[16:]):
        assert len(set(half)) == 4  # of 16 bytes each, side by side: no two in one bank
