"""Random problems and kernels, small enough to walk, as crooked as they may be."""

import random

from gemmlab.formats import bits_of
from gemmlab.kernels import Kernel
from gemmlab.problem import BlockScale, Gemm

FORMATS = ("float32", "float16", "bfloat16", "float64", "float8_e4m3fn", "int8", "tfloat32", "float4_e2m1fn")
FORMATS = (*FORMATS, "float6_e2m3fn", "int4")
EPILOGUES = ("", "", "", "bias", "residual", "bias+gelu", "residual+bias", "relu")
OFFSETS = (0, 0, 0, 1, 2, 4, 8, 13, 16, 32, 100, 255)


def side(rng: random.Random, most: int) -> int:
    return rng.choice((1, 2, 4, 8, rng.randint(1, most), rng.randint(1, most), rng.randint(1, most)))


def random_problem(rng: random.Random, structures: tuple[str, ...], most: int = 12, scaled: bool = False) -> Gemm:
    structure = rng.choice(structures)
    m, n, k = (side(rng, most) for _ in "mnk")
    fields: dict[str, object] = {}
    if structure == "sparse_2_4":
        k = 4 * rng.randint(1, max(1, most // 4))
    elif structure != "general":
        k = m
    if structure == "banded":
        fields |= {"lower_band": rng.randint(0, m + 1), "upper_band": rng.randint(0, m + 1)}
    layout = rng.choice(("nn", "nt", "tn", "tt"))
    if rng.random() < 0.5:
        pad = (0, 1, 2, 3, 4, 8, 16, 24, 61)
        fields["lda"] = (m if layout[0] == "t" else k) + rng.choice(pad)
        fields["ldb"] = (k if layout[1] == "t" else n) + rng.choice(pad)
        fields["ldc"] = n + rng.choice(pad)
    for operand in "abc":
        fields[f"{operand}_offset_bytes"] = rng.choice(OFFSETS)
    if structure == "general" and rng.random() < 0.1:
        members = [(side(rng, 6), side(rng, 6), side(rng, 6)) for _ in range(rng.randint(1, 3))]
        grouped = {name: value for name, value in fields.items() if not name.startswith("ld")}
        return Gemm.grouped(members, rng.choice(FORMATS), layout=layout, beta=rng.choice((0, 1)), **grouped)
    if scaled and structure in ("general", "sparse_2_4") and rng.random() < 0.2:
        blocks = [rng.randint(1, 9) for _ in range(3)]
        name = rng.choice(("float8_e8m0fnu", "float32", "float8_e4m3fn"))
        fields["scale"] = BlockScale(format=name, block_m=blocks[0], block_n=blocks[1], block_k=blocks[2])
    a_format = rng.choice(FORMATS)
    if rng.random() < 0.3:
        fields["c_format"] = rng.choice(("float32", "float16", "float64"))
    if rng.random() < 0.15 and bits_of(a_format) >= 8 and not a_format.startswith(("int", "float64", "tfloat")):
        fields["b_format"] = rng.choice(("float8_e5m2", "float16"))
    return Gemm(
        m,
        n,
        k,
        a_format,
        layout=layout,
        structure=structure,
        batch=rng.choice((1, 1, 1, 2, 3)),
        beta=rng.choice((0.0, 0.0, 0.5)),
        epilogue=rng.choice(EPILOGUES),
        **fields,
    )


def random_kernel(rng: random.Random, family: str, problem: Gemm) -> Kernel:
    common = {
        "name": family,
        "family": family,
        "split_k": rng.choice((1, 1, 1, 2, 3)),
        "raster": rng.choice("mn"),
        "group_m": rng.choice((1, 2, 3)),
    }
    if family == "naive":
        block_m, block_n = rng.choice(((1, 1), (3, 5), (2, 16), (8, 8), (4, 16), (16, 4), (1, 33), (40, 1), (7, 9)))
        return fill_warps(Kernel(block_m=block_m, block_n=block_n, block_k=1, **common))
    block_k = rng.choice((1, 2, 3, 4, 5, 7, 8, 16))
    if problem.structure == "sparse_2_4":
        block_k = rng.choice((4, 8, 12, 16))
    if family == "tensor":
        return random_tensor(rng, block_k, problem.structure == "sparse_2_4", common)
    vector = {"vector_bytes": rng.choice((0, 0, 2, 4, 8, 16))}
    if family == "tiled":
        block_m, block_n = rng.choice(((1, 1), (3, 5), (4, 4), (8, 8), (7, 9), (2, 16), (16, 3), (1, 40), (6, 6)))
        return fill_warps(Kernel(block_m=block_m, block_n=block_n, block_k=block_k, **vector, **common))
    thread_m, thread_n = rng.choice(((1, 1), (2, 2), (1, 3), (4, 1), (2, 4)))
    block_m, block_n = thread_m * rng.randint(1, 7), thread_n * rng.randint(1, 7)
    return fill_warps(
        Kernel(
            block_m=block_m, block_n=block_n, block_k=block_k, thread_m=thread_m, thread_n=thread_n, **vector, **common
        )
    )


def fill_warps(kernel: Kernel) -> Kernel:
    return kernel.replace(warps=-(-kernel.threads // 32))


def random_tensor(rng: random.Random, block_k: int, sparse: bool, common: dict[str, object]) -> Kernel:
    shared = rng.random() < 0.4
    mma_n = rng.choice((1, 2, 4))
    mma_k = rng.choice([step for step in (1, 2, 4) if block_k % step == 0 and not (sparse and step % 2)])
    parts = rng.choice((1, 2)), rng.choice((1, 2, 3))
    if shared:
        warp_m, mma_m, down = rng.choice((1, 2)), 4, 4
    else:
        warp_m, mma_m, down = rng.choice(((2, 1, 1), (4, 2, 2), (3, 3, 1), (6, 2, 1)))
    down *= parts[0]
    warp_n = mma_n * rng.choice((1, 2))
    return Kernel(
        block_m=warp_m * down,
        block_n=warp_n * parts[1],
        block_k=block_k,
        warp_m=warp_m,
        warp_n=warp_n,
        mma=(mma_m, mma_n, mma_k),
        warps=down * parts[1],
        tiles_from="shared" if shared else "registers",
        **common,
    )
