"""The rungs in CUDA C++: what the compiler makes of them for Hopper, and that their twins' lanes are theirs."""

import numpy as np
import pytest

from gemmlab.emulator import emulate
from gemmlab.kernels.ladder import RUNGS, load
from gemmlab.kernels.ladder.cuda import TEXTS
from gemmlab.kernels.ladder.cuda.texts import WARP_TILES, warp_tile
from gemmlab.kernels.nvrtc import compiled
from gemmlab.record import GemmlabError
from kernels.machine_code import REGISTERS_OF_SM, SHARED_LIMIT, having, lacking, need, read, told

#: each rung, and the other sizes of it that were timed beside it
SHIPPED = TEXTS | {f"warp_tile={size}": warp_tile(sizes) for size, sizes in list(WARP_TILES.items())[1:]}
RESERVED = 1024  # bytes of shared memory that the system takes of each block


@pytest.fixture
def for_hopper():
    """What NVRTC makes of a text, and what the assembler within it says of registers and spills."""
    need("cuda.bindings", "nvidia")

    def of(text, wide):
        try:
            return compiled(text.source(wide), options=["--ptxas-options=-v"])
        except GemmlabError:
            lacking("NVRTC")

    return of


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
@pytest.mark.parametrize("name", SHIPPED)
def test_machine_code_has_wide_loads_and_no_spills(name, wide, for_hopper, tmp_path):
    text = SHIPPED[name]
    made = for_hopper(text, wide)
    said, (opcodes, usage) = told(made.log), read(made.code, tmp_path)
    assert said.spilled == said.stack == said.local == usage.stack == usage.local == 0
    assert having(opcodes, "LDL") == having(opcodes, "STL") == 0
    assert said.registers == usage.registers
    blocks, threads = text.sizes.get("BLOCKS", 2), int(np.prod(text.block))
    assert blocks * usage.registers * threads <= REGISTERS_OF_SM
    assert blocks * (said.shared + text.dynamic_shared_bytes + RESERVED) <= SHARED_LIMIT + RESERVED
    assert having(opcodes, "LDS", "128") > 0
    if name == "vectorised":
        assert said.shared == 2 * 8 * 128 * 4  # a tile of A and one of B
        assert having(opcodes, "LDG", "128") == (2 if wide == 4 else 0)
        assert having(opcodes, "STG", "128") == (16 if wide == 4 else 0)
    else:
        assert said.shared == 0
        assert (having(opcodes, "LDGSTS", "128") > 0) == (having(opcodes, "STG", "128") > 0) == (wide == 4)
        assert having(opcodes, "LDGSTS") > 0
        # a step of k: what 16-byte loads bring feeds the products of all that a thread owns
        step, own = (text.sizes["TM"] + text.sizes["TN"]) // 4, text.sizes["TM"] * text.sizes["TN"]
        assert having(opcodes, "FFMA") == text.sizes["BK"] * own
        assert having(opcodes, "LDS", "128") == (text.sizes["BK"] + 1) * step


def test_what_the_compiler_refuses_is_told_in_its_words():
    need("cuda.bindings", "nvidia")
    with pytest.raises(RuntimeError, match=r"NVRTC_ERROR_COMPILATION: kernel\.cu\(1\): error: .*nothing"):
        compiled("__global__ void kernel() { nothing(); }")


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
