"""Programs resident on one SM, against adding them one by one, and what is said where none fits."""

import math
import random
import re

import pytest

from gemmlab import Gemm
from gemmlab.chips import load, names
from gemmlab.kernels import accumulators, get, registers_of, shared_bytes_of
from gemmlab.model import occupancy
from gemmlab.record import GemmlabError

HALF = Gemm(8192, 8192, 8192, "float16")
CHIPS = [load(name) for name in names()]
LIMITED = [chip for chip in CHIPS if chip.limits is not None]
SMALLER = re.compile(r"--stages (\d+) needs")
TILE = re.compile(r"choose --tile (\d+)x(\d+)x(\d+)(?: --stages (\d+))?")


@pytest.mark.parametrize(
    ("chip", "tile", "stages", "warps", "registers", "shared", "programs", "limit"),
    [
        ("h200-sxm", "128x128x64", 4, 8, 117, 131072, 1, "shared memory"),
        ("h200-sxm", "64x128x64", 4, 4, 121, 98304, 2, "shared memory"),
        ("h200-sxm", "128x128x32", 3, 8, 106, 49152, 2, "registers"),
        ("h200-sxm", "64x64x64", 3, 4, 72, 49152, 4, "shared memory"),
        ("h200-sxm", "128x256x64", 3, 8, 255, 147456, 1, "registers"),
        ("a100-pcie-80gb", "128x128x32", 3, 4, 195, 49152, 2, "registers"),
        ("v100-sxm2-16gb", "128x128x32", 3, 4, 128, 49152, 2, "shared memory"),  # nothing is reserved: 2 * 48 = 96 KiB
        ("t4", "64x64x32", 2, 4, 64, 16384, 4, "shared memory"),
        ("a10", "64x64x16", 1, 4, 32, 4096, 12, "warps"),  # 48 warps an SM
        ("h200-sxm", "16x16x16", 1, 1, 32, 1024, 32, "programs"),
    ],
)
def test_known_cases(chip, tile, stages, warps, registers, shared, programs, limit):
    kernel = get("tensor", problem=HALF, tile=tile, stages=stages, warps=warps, registers=registers)
    assert shared_bytes_of(kernel, HALF) == shared
    held = occupancy(HALF, load(chip), kernel)
    assert (held.programs, held.limit) == (programs, limit)


def test_one_kib_of_each_program_is_reserved_from_compute_capability_8_on():
    kernel = get("tensor", problem=HALF, tile="64x64x64", registers=32)
    chip = load("a100-pcie-80gb")  # 164 KiB an SM
    assert occupancy(HALF, chip, kernel.replace(shared_bytes=81 << 10)).programs == 2
    assert occupancy(HALF, chip, kernel.replace(shared_bytes=82 << 10)).programs == 1


def test_waves_of_64_lanes():
    """An MI300X holds 32 waves of 64 lanes a compute unit: 256 threads are four of them."""
    problem = Gemm(512, 512, 512)
    chip = load("mi300x")
    kernel = get("tiled", problem=problem, tile="16x16x4", registers=32)
    held = occupancy(problem, chip, kernel)
    assert held.programs == int(chip.limits.warps_per_sm) // 4
    half = kernel.replace(shared_bytes=int(chip.limits.shared_bytes_per_sm) // 2)
    assert occupancy(problem, chip, half).programs == 2  # CUDA's reserve is NVIDIA's alone


def added_one_by_one(problem, chip, kernel):
    """Programs that fit when each takes its share of what is left, warp by warp."""
    limits = chip.limits
    registers, shared = int(limits.registers_per_sm), int(limits.shared_bytes_per_sm)
    warps, programs = int(limits.warps_per_sm), 0
    needed_warps = math.ceil(kernel.threads / limits.warp_size)
    most = min(registers // (needed_warps * limits.warp_size) // 8 * 8, int(limits.registers_per_thread))
    each = min(registers_of(kernel, problem), most)
    while True:
        for _ in range(needed_warps):
            registers -= math.ceil(each * limits.warp_size / 256) * 256
        if asked := shared_bytes_of(kernel, problem):
            shared -= asked + (1024 if chip.architecture in ("ampere", "ada", "hopper", "blackwell") else 0)
        warps -= needed_warps
        if min(registers, shared, warps) < 0 or programs == int(limits.programs_per_sm):
            return programs, each
        programs += 1


def random_kernel(rng, problem):
    family = rng.choice(("naive", "tiled", "register", "tensor", "warpgroup"))
    tile = (2 ** rng.randint(3, 9), 2 ** rng.randint(3, 9), 1 if family == "naive" else 2 ** rng.randint(2, 9))
    registers = rng.choice((None, None, rng.randint(16, 255)))
    return get(family, problem=problem, tile=tile, stages=rng.randint(1, 6), registers=registers)


def test_equals_adding_programs_one_by_one():
    rng, compared = random.Random(2), 0
    for _ in range(3000):
        problem = Gemm(64, 64, 64, rng.choice(("float32", "float16", "float64", "int8")))
        chip = rng.choice(LIMITED)
        try:
            kernel = random_kernel(rng, problem)
            held = occupancy(problem, chip, kernel)
        except GemmlabError:
            continue
        programs, each = added_one_by_one(problem, chip, kernel)
        assert held.programs == max(1, programs), (chip.name, kernel)
        assert held.registers == each
        assert held.registers + held.spilled == registers_of(kernel, problem)
        compared += 1
    assert compared > 500


def test_32_by_32_outputs_of_a_thread_spill():
    kernel = get("register", problem=HALF, tile="256x256x8", thread_m=32, thread_n=32)
    assert accumulators(kernel, HALF) == 1024
    held = occupancy(HALF, load("a100-pcie-80gb"), kernel)
    assert held.registers == 255
    assert held.spilled >= 1024 - 255


def test_256_by_256_accumulators_fill_the_registers_of_an_sm_exactly():
    problem = Gemm(4096, 4096, 4096)
    chip = load("a100-pcie-80gb")
    whole = get("register", problem=problem, tile="256x256x8")
    assert 4 * accumulators(whole, problem) * whole.threads == 256 << 10 == 4 * int(chip.limits.registers_per_sm)
    assert occupancy(problem, chip, whole).spilled > 0  # nothing is left for operands
    with pytest.raises(GemmlabError, match=r"tile 512x256 needs 512 KiB of accumulators .* has 256 KiB of registers"):
        occupancy(problem, chip, get("register", problem=problem, tile="512x256x8", thread_m=16, thread_n=8))


def test_style_of_the_refusal():
    kernel = get("tensor", problem=Gemm(64, 64, 64), tile="256x256x64", stages=3)
    with pytest.raises(GemmlabError) as raised:
        occupancy(Gemm(64, 64, 64), load("a100-pcie-80gb"), kernel)
    assert raised.value.text == (
        "tile 256x256x64 with 3 stages needs 384 KiB of shared memory a program; a100-pcie-80gb has 163 KiB"
    )
    assert raised.value.hint == "--stages 1 needs 128 KiB, or choose --tile 256x256x16"


def test_following_the_hint_helps():
    """Each part of a hint, followed with nothing else changed, gives a kernel that fits."""
    rng, followed = random.Random(3), {"stages": 0, "tile": 0, "accumulators": 0}
    for _ in range(4000):
        problem = Gemm(4096, 4096, 4096, rng.choice(("float32", "float16", "float8_e4m3fn", "float64")))
        chip = rng.choice(LIMITED)
        family = rng.choice(("tiled", "register", "tensor", "warpgroup"))
        tile = tuple(2 ** rng.randint(3, 10) for _ in "mnk")
        stages = rng.randint(1, 6)
        try:
            kernel = get(family, problem=problem, tile=tile, stages=stages)
        except GemmlabError:
            continue
        try:
            occupancy(problem, chip, kernel)
            continue
        except GemmlabError as error:
            said = error
        assert chip.name in said.text
        fewer, smaller = SMALLER.search(said.hint), TILE.search(said.hint)
        if not (fewer or smaller):  # instructions that no halved side of the tile takes
            assert family == "warpgroup"
            assert said.hint == "choose a smaller tile"
        if fewer:
            occupancy(problem, chip, get(family, problem=problem, tile=tile, stages=int(fewer[1])))
            assert int(fewer[1]) < stages
            with pytest.raises(GemmlabError):  # and one stage more would not
                occupancy(problem, chip, kernel.replace(stages=int(fewer[1]) + 1))
        if smaller:
            sides = tuple(int(side) for side in smaller.groups()[:3])
            occupancy(problem, chip, get(family, problem=problem, tile=sides, stages=int(smaller[4] or stages)))
            assert math.prod(sides) < math.prod(tile)
        followed["stages"] += fewer is not None
        followed["tile"] += smaller is not None
        followed["accumulators"] += "accumulators" in said.text
    assert min(followed.values()) > 10, followed


def test_a_chip_without_limits_holds_one_program():
    chip = next(chip for chip in CHIPS if chip.limits is None)
    assert occupancy(HALF, chip, get("tensor", problem=HALF, tile="256x256x64", stages=6)).programs == 1


@pytest.mark.parametrize(("chip", "most"), [("h100-sxm", 16), ("h200-sxm", 16), ("b200-sxm", 16)])
def test_a_cluster_larger_than_a_chip_launches_is_refused(chip, most):
    fitting = get("tensor", problem=HALF, tile="64x64x32", cluster_m=most // 2, cluster_n=2)
    assert occupancy(HALF, load(chip), fitting).programs >= 1
    with pytest.raises(GemmlabError, match=f"cluster of {2 * most} programs; {chip} takes at most {most}"):
        occupancy(HALF, load(chip), fitting.replace(cluster_m=most))
