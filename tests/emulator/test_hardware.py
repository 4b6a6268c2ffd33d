"""The emulator's counts against hardware counters of the very same launches (benchmarks/h200_counters.py), row by row.

Where a counter says something else, a table here says how much, and why.
"""

import functools
import json
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from emulator.hardware_launches import Launch
from gemmlab.emulator.launch import launch_of
from gemmlab.emulator.lockstep.running import run
from gemmlab.emulator.lockstep.runtime import places
from gemmlab.emulator.lockstep.runtime.requests import ABSENT, SCRATCH, request_pieces
from gemmlab.emulator.lower import program_of
from gemmlab.emulator.reference import run_reference
from gemmlab.emulator.reference.counting import sectors, wavefronts

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
import counter_cases  # noqa: E402

RECORD = json.loads((ROOT / "benchmarks/results/h200_counters.json").read_text())
ROWS = {row["name"]: Counter({k: v for k, v in row["metrics"].items() if k != "opcodes"}) for row in RECORD["rows"]}
OPCODES = {row["name"]: row["metrics"].get("opcodes", {}) for row in RECORD["rows"]}
READ = {row["name"]: row["read"] for row in RECORD["rows"]}
CASES = {case.name: case for case in counter_cases.cases()}
PATTERNS = [case for case in CASES.values() if not case.product]
PRODUCTS = [case for case in CASES.values() if case.product]
KINDS = {"load": (places.LOADED, "ld"), "store": (places.STORED, "st"), "atomic": (places.CHANGED, "atom")}
COLUMNS = [
    *(f"global_{way}_{what}" for _, way in KINDS.values() for what in ("requests", "sectors")),
    *(f"shared_{way}_{what}" for _, way in KINDS.values() for what in ("instructions", "wavefronts", "conflicts")),
]
TWINS = {
    "tiled_8": "ladder:tiled:tiled:8",
    "tiled_16": "ladder:tiled:kernel",
    "padded": "ladder:padded:kernel",
    "unpadded": "ladder:padded:unpadded",
}  # kernels in CUDA C++ that do as a rung does, their shared memory volatile

#: Global atomics whose elements lie hundreds of bytes apart can take a sector or two more: the chip seems to take some
#: lanes of different elements for lanes of one. Which, depends on addresses that a program does not know. By pattern
#: and bytes of an element: the sectors beyond ours.
FAR_ATOMICS = {
    ("random", 4): 1,
    ("random", 8): 1,
    ("warp 1 of random", 4): 1,
    ("warp 1 of random", 8): 1,
    ("random under 400, 1", 4): 1,
    ("random under 400, 3", 4): 1,
    ("random under 400, 3", 8): 1,
    ("random under 100, 0", 8): 1,
    ("random under 100, 1", 8): 1,
    ("random under 100, 3", 8): 2,
}

#: Where a rung's inner loop reads neighbours in a row of shared memory, the compiler makes one load of 16 bytes of four
#: of 4 (`LDS.128` in the record's `machine_code`), whose wavefronts are those of a wide load. By kernel: the array, and
#: what remains of its loads and of their wavefronts. register_2d reads one word in eight alone once more.
ONE_LOAD_OF_FOUR = ("a_tile", Fraction(1, 4), Fraction(1, 2))
MERGED = {
    "ladder:tiled:kernel": ONE_LOAD_OF_FOUR,
    "ladder:tiled:tiled:4": ("a_tile", Fraction(1, 4), Fraction(1, 4)),  # half a warp is all that a block has
    "ladder:tiled:tiled:8": ONE_LOAD_OF_FOUR,
    "ladder:tiled:tiled:32": ONE_LOAD_OF_FOUR,
    "ladder:split_k:kernel": ONE_LOAD_OF_FOUR,
    "ladder:register_2d:kernel": ("b_tile", Fraction(2 + 1, 8), Fraction(16 + 4, 32)),
}


# --- counts ---


@functools.cache
def request(kind, shared, size, first, lanes):
    """Pieces and conflicts of a warp's request, its lanes by element from the first; both forms agree."""
    where = {lane: (first + element) * size for lane, element in enumerate(lanes) if element is not None}
    expected = wavefronts(where, size, kind) if shared else (sectors(where, size, kind), 0)
    if size <= 8:
        deltas = np.array([ABSENT if element is None else element for element in lanes], np.int64)
        space = places.IN_SHARED if shared else places.IN_GLOBAL
        shift, room = size.bit_length() - 1, np.zeros(SCRATCH, np.int64)
        found = request_pieces(deltas, 0, len(lanes), first * size % 32, shift, 0, space, KINDS[kind][0], room)
        assert (found & 0xFFFFFFFF, found >> places.SPLIT) == expected
    return expected


def counts_of(launch):
    """Counts of a launch as the record names them."""
    found = Counter()
    for asked in launch.all_asked():
        way = KINDS[asked.kind][1]
        for block in asked.bytes.reshape(-1, launch.block):
            for start in range(0, launch.block, 32):
                lanes = block[start : start + 32]
                if (lanes < 0).all():
                    continue
                first = int(lanes[lanes >= 0][0]) // asked.size
                near = first % (256 // asked.size)  # a sector and a bank know no more of an address
                elements = tuple(int(x) // asked.size - first if x >= 0 else None for x in lanes)
                pieces, conflicts = request(asked.kind, asked.shared, asked.size, near, elements)
                if asked.shared:
                    found[f"shared_{way}_instructions"] += 1
                    found[f"shared_{way}_wavefronts"] += pieces
                    found[f"shared_{way}_conflicts"] += conflicts
                else:
                    found[f"global_{way}_requests"] += 1
                    found[f"global_{way}_sectors"] += pieces
    return found


def measured(name):
    """A row of the record.

    Atomics whose old value nobody wants have counters of their own there. Where the compiler knows not which memory an
    atomic is on (`ATOM`, of an array with strides of its own), the chip counts a wavefront of shared memory besides.
    """
    row = Counter(ROWS[name])
    row["shared_atom_wavefronts"] -= OPCODES[name].get("ATOM", 0)
    for what in ("requests", "sectors"):
        row[f"global_atom_{what}"] += row.pop(f"global_red_{what}", 0)
    return row


def outcome_counts(tallies, space_of):
    """Counts of an emulation as the record names them, and of each shared array by kind: requests, wavefronts."""
    found, arrays = Counter(), {}
    for key, tally in tallies.items():
        found["fma"] += tally.fma
        found["flop"] += tally.flop
        space = space_of(key.array)
        if key.kind not in KINDS or space == "local":
            continue
        way = KINDS[key.kind][1]
        of_shared = space == "shared"
        found[f"{space}_{way}_{'instructions' if of_shared else 'requests'}"] += tally.requests
        found[f"{space}_{way}_{'wavefronts' if of_shared else 'sectors'}"] += tally.pieces
        found[f"{space}_{way}_conflicts"] += tally.splits
        requests, pieces = arrays.get((key.kind, key.array), (0, 0))
        arrays[key.kind, key.array] = requests + tally.requests, pieces + tally.pieces
    return found, arrays


# --- small kernels ---


@pytest.mark.parametrize("kernel", sorted({case.kernel for case in PATTERNS if not case.cuda}))
def test_a_kernel_asks_for_what_its_pattern_says(kernel):
    case = min(
        (case for case in PATTERNS if case.kernel == kernel), key=lambda case: (np.prod(case.grid), len(case.name))
    )
    launch = Launch(case)
    outcome = run_reference(case.program(), case.grid, case.block, *(piece.host for piece in launch.pieces))
    found, _ = outcome_counts(outcome.tallies, lambda array: "shared" if array == "slots" else "global")
    expected = counts_of(launch)
    assert {name: found[name] for name in COLUMNS} == {name: expected[name] for name in COLUMNS}


def pattern_of(case):
    """What the threads of an atomic's launch name, and the bytes of an element."""
    return case.name.removeprefix("one warp, ").split(", ", 2)[2], case.pieces()[2].host.itemsize


@pytest.mark.parametrize("kernel", sorted({case.kernel for case in PATTERNS}))
def test_small_kernels_count_as_the_chip_does(kernel):
    cases = [case for case in PATTERNS if case.kernel == kernel]
    for case in cases:
        ours, theirs = counts_of(Launch(case)), measured(case.name)
        if "atomic" in kernel and "shared" not in kernel:
            ours["global_atom_sectors"] += FAR_ATOMICS.get(pattern_of(case), 0)
        if kernel == "shared_atomic_add_float":
            ours = in_a_loop(ours, theirs)
        assert {name: theirs[name] for name in COLUMNS} == {name: ours[name] for name in COLUMNS}, case.name


def in_a_loop(ours, theirs):
    """Shared memory adds no floats: the chip loads and tries to exchange, one round for each of our wavefronts.

    How many wavefronts the loads take depends on which lanes are left; an exchange takes two.
    """
    rounds = ours["shared_atom_wavefronts"]
    loads = {name: theirs[name] for name in ("shared_ld_wavefronts", "shared_ld_conflicts")}
    exchanges = {"shared_atom_wavefronts": 2 * rounds, "shared_atom_conflicts": theirs["shared_atom_conflicts"]}
    return Counter({**ours, **loads, **exchanges, "shared_ld_instructions": rounds, "shared_atom_instructions": rounds})


SUMS = [case for case in PATTERNS if "arithmetic" in READ[case.name]]


@pytest.mark.parametrize("case", SUMS, ids=lambda case: case.name)
def test_float_operations_of_small_kernels(case):
    operations = Launch(case).float_operations()
    letter = "d" if case.pieces()[0].host.itemsize == 8 else "f"
    names = [f"{letter}{op}" for letter in "fd" for op in ("fma", "add", "mul")]
    expected = {f"{letter}{op}": times for op, times in operations.items()}
    assert {name: ROWS[case.name][name] for name in names} == {name: expected.get(name, 0) for name in names}


# --- the ladder ---


@functools.cache
def product_counts(case_name, *, values=True):
    """Counts of a product of matrices by the compiled form, which examples/emulate_ladder.py runs too, with values."""
    case = CASES[case_name]
    arrays = [piece.host for piece in case.pieces()]
    program = program_of(case.program(), *arrays)
    outcome = run(program, launch_of(program, case.grid, case.block, arrays), values=values)
    return outcome_counts(outcome.tallies, lambda array: program.arrays[array].space if array else "")


def rung_of(case):
    """The launch of a rung that a launch in CUDA C++ is a twin of; any other is its own."""
    kernel, shape = TWINS.get(case.kernel, case.kernel), case.name.split(" ", case.cuda + 1)[-1]
    return next(x for x in PRODUCTS if not x.cuda and x.kernel == kernel and x.name.endswith(f" {shape}"))


def as_compiled(case, ours, arrays):
    """Counts with loads merged as the compiler merges them."""
    if case.kernel not in MERGED:
        return ours
    array, loads_left, wavefronts_left = MERGED[case.kernel]
    loads, passes = arrays["load", array]
    merged = Counter(ours)
    merged["shared_ld_instructions"] -= loads * (1 - loads_left)
    merged["shared_ld_wavefronts"] -= passes * (1 - wavefronts_left)
    return merged


@pytest.mark.parametrize("kernel", sorted({case.kernel for case in PRODUCTS}))
def test_products_count_as_the_chip_does(kernel):
    for case in PRODUCTS:
        if case.kernel != kernel:
            continue
        ours, arrays = product_counts(rung_of(case).name)
        expected, theirs = as_compiled(case, ours, arrays), measured(case.name)
        names = [*(name for name in COLUMNS if not name.endswith("_conflicts")), "ffma", "other"]
        for way in ("ld", "st"):  # with the waits for other accesses to the same banks, and without
            least = theirs.pop(f"shared_{way}_wavefronts_by_instruction", 0)
            assert theirs[f"shared_{way}_wavefronts"] >= least
            theirs[f"shared_{way}_wavefronts"] = least
        theirs["other"] = theirs["fadd"] + theirs["fmul"]
        expected = Counter({**expected, "ffma": ours["fma"], "other": ours["flop"] - 2 * ours["fma"]})
        assert {name: theirs[name] for name in names} == {name: expected[name] for name in names}, case.name


#: read on that chip by CUDA C++ kernels of their own, at 256x256x256: load requests, sectors, fma
@pytest.mark.parametrize(
    ("name", "requests", "pieces"),
    [("naive", 1048576, 2097152), ("tiled T=8", 131072, 524288), ("tiled", 65536, 262144)],
)
def test_figures_read_before(name, requests, pieces):
    ours, _ = product_counts(f"{name} 256x256x256")
    assert (ours["global_ld_requests"], ours["global_ld_sectors"], ours["fma"]) == (requests, pieces, 16777216)


@pytest.mark.parametrize("rung", ["tiled", "register_2d"])
def test_counts_are_the_same_without_values(rung):
    name = f"{rung} 256x256x256"
    assert product_counts(name, values=False) == product_counts(name)


def test_every_row_of_the_record_is_compared():
    assert set(ROWS) == set(CASES) == {case.name for case in PATTERNS} | {case.name for case in PRODUCTS}
    assert not RECORD["problems"]
    assert all(row.get("right", True) for row in RECORD["rows"])
