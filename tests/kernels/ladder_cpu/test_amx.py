"""The AMX kernel without AMX: its packing and loops around a product written plainly, and what it compiles to."""

import itertools
import json
import os
import platform
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from numba import njit

from gemmlab.kernels.ladder.cpu import amx, threads
from gemmlab.kernels.ladder.cpu.amx_packing import tile_packer, unpacker
from gemmlab.kernels.ladder.cpu.memory import Workspace, aligned, flat
from gemmlab.kernels.ladder.cpu.tiling import Tiling, amx_tiling

SMALL = Tiling(mr=32, nr=32, mc=32, kc=64, nc=64, lanes=16)
SHAPES = ((1, 1, 1), (7, 5, 3), (32, 32, 32), (13, 29, 31), (33, 65, 64), (100, 70, 33), (129, 257, 163))
FEATURES = "+amx-tile,+amx-bf16,+avx512f,+avx512bw,+avx512vl,+avx512dq,+avx2,+fma,+bmi,+bmi2,+f16c"

# What the intrinsic of the same arguments does, product by product.


@njit
def plain(config, a, a_start, a_panel, b, b_start, b_panel, c, down, across, steps, fresh):
    pair = np.empty(2, np.uint32)
    for column in range(across):
        for row in range(down):
            for i in range(32):
                for j in range(32):
                    at = (column * down + row) * 1024 + (i // 16 * 2 + j // 16) * 256 + i % 16 * 16 + j % 16
                    total = np.float32(0) if fresh else c[at]
                    for k in range(steps * 32):
                        step, inner = k // 32 * 1024, k % 32
                        left = a[a_start + row * a_panel + step + i // 16 * 512 + i % 16 * 32 + inner]
                        place = inner // 2 * 32 + j % 16 * 2 + inner % 2
                        right = b[b_start + column * b_panel + step + j // 16 * 512 + place]
                        pair[0], pair[1] = np.uint32(left) << 16, np.uint32(right) << 16
                        values = pair.view(np.float32)
                        total += values[0] * values[1]
                    c[at] = total


def matrices(m, n, k):
    drawn = np.random.default_rng(m + n + k)
    return [drawn.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((m, k), (k, n))]


def product_of(a, b, out, workers=1):
    c = np.full((a.shape[0], b.shape[1]), np.nan, out)
    amx.prepared(a, b, c, workers, SMALL, Workspace(), plain)()
    return c


@pytest.mark.parametrize("shape", SHAPES)
def test_equals_the_product(shape, monkeypatch):
    monkeypatch.setattr(threads, "WORTH_WAKING", 1)
    a, b = matrices(*shape)
    exact, size = (np.abs(a.astype(float)) @ np.abs(b.astype(float)) if absolute else a.astype(float) @ b.astype(float)
                   for absolute in (False, True))  # fmt: skip
    for left, right in itertools.product((a, np.asfortranarray(a)), (b, np.asfortranarray(b))):
        c = product_of(left, right, np.float32)
        assert (np.abs(c - exact) <= 1.01 * shape[2] * 2.0**-24 * size).all()
        narrow = product_of(left, right, ml_dtypes.bfloat16)
        assert (narrow == c.astype(ml_dtypes.bfloat16)).all()
    assert (product_of(a, b, np.float32, workers=3) == product_of(a, b, np.float32)).all()


def packed_back(words):
    """Words of float32 that stand as they would in one row of blocks, through the unpacker."""
    padded = np.zeros(-(-len(words) // 32) * 32, np.uint32)
    padded[: len(words)] = words
    blocks = np.zeros((len(padded) // 32, 2, 2, 16, 16), np.uint32)
    blocks[:, 0, :, 0, :] = padded.reshape(-1, 2, 16)
    out, edge = np.zeros(len(words), np.uint16), np.empty(16, np.uint16)
    unpacker(False)(out, len(words), 0, blocks.ravel(), 1, len(words), edge)
    return out


def test_rounding_to_bfloat16_is_that_of_ml_dtypes():
    drawn = np.random.default_rng(0).integers(0, 1 << 32, 20000, np.uint64).astype(np.uint32)
    ties = (np.arange(500, dtype=np.uint32) << 16) + 0x3F808000
    special = np.array([0, 1, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0xFF800000, 0xFFFFFFFF, 0x80000000], np.uint32)
    words = np.concatenate([drawn, ties, special])
    out = packed_back(words)
    with np.errstate(invalid="ignore"):
        expected = words.view(np.float32).astype(ml_dtypes.bfloat16)
    nan = np.isnan(expected.astype(np.float32))
    assert (np.isnan(out.view(ml_dtypes.bfloat16).astype(np.float32)) == nan).all()
    assert (out[~nan] == expected.view(np.uint16)[~nan]).all()


@pytest.mark.parametrize("strides", ["along", "across", "neither"])
@pytest.mark.parametrize("shape", [(35, 37), (64, 64), (1, 1), (16, 32)])
def test_panels_hold_tiles_as_the_instructions_read_them(strides, shape):
    lines, k = shape
    values = np.arange(1, lines * k + 1, dtype=np.uint16).reshape(lines, k)
    source = {"along": values, "across": np.asfortranarray(values), "neither": np.repeat(values, 3, 1)[:, ::3]}[strides]
    memory, across, along = flat(source)
    panels, steps = -(-lines // 32), -(-k // 32)
    whole = np.zeros((panels * 32, steps * 32), np.uint16)
    whole[:lines, :k] = values
    tiles = whole.reshape(panels, 2, 16, steps, 16, 2)
    for pairs_first, order in ((False, (0, 3, 1, 2, 4, 5)), (True, (0, 3, 1, 4, 2, 5))):
        out = aligned(panels * steps * 1024, np.uint16)
        out[:] = 0xFFFF
        tile_packer(pairs_first)(out, memory, across, along, lines, k)
        assert (out == tiles.transpose(order).ravel()).all()


def test_the_tiling_fits_the_caches():
    cut = amx_tiling(l1_bytes=48 << 10)
    assert cut.kc == 512
    assert min(cut.mc, cut.nc) >= 32
    assert not any(side % 32 for side in (cut.mc, cut.nc, cut.kc))


def compiled_elsewhere(code):
    """What a process says that compiles for a processor with AVX-512 and AMX, and runs none of it."""
    environment = os.environ | {"NUMBA_CPU_NAME": "sapphirerapids", "NUMBA_CPU_FEATURES": FEATURES}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="numba compiles for the processor's own family")


@x86
def test_a_step_is_four_loads_and_four_products():
    text = compiled_elsewhere(
        "import json; from gemmlab.kernels.ladder.cpu import amx\n"
        "print(json.dumps(next(iter(amx.compiled_for(True).inspect_asm().values()))))"
    )
    loop = max(text.split("\n.LBB"), key=lambda block: block.count("tdpbf16ps"))
    assert loop.count("tileloadd") == loop.count("tdpbf16ps") > 0
    assert "tilestored" not in loop
    assert {word for word in loop.replace(",", " ").split() if word.startswith("%tmm")} == {
        f"%tmm{i}" for i in range(8)
    }


@x86
def test_the_micro_kernel_keeps_its_sums_in_registers():
    text = compiled_elsewhere(
        "import json, numpy as np; from gemmlab.kernels.ladder.cpu import packed, tiling\n"
        "sizes = tiling.Tiling(14, 32, 0, 0, 0, 16)\n"
        "print(json.dumps(next(iter(packed.compiled_for(sizes, np.dtype('float32')).inspect_asm().values()))))"
    )
    blocks = text.split("\n.LBB")
    loop = max(blocks, key=lambda block: block.count("vfmadd"))
    body = loop[: loop.rindex("vfmadd")]
    assert body.count("vfmadd") == 14 * 2 * 4 - 1
    assert "%zmm" in body
    assert "%rsp" not in body
