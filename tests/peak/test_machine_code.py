"""The wgmma kernel compiled ahead of time: the instructions that are meant are there, and nothing spills."""

import hashlib
import json
import os
import re

import pytest
from tests.kernels import machine_code

from gemmlab.peak.engine import Engine
from gemmlab.units import ceil_div

BF16 = {"a_format": "bfloat16", "b_format": "bfloat16", "d_format": "bfloat16"}
FP8 = {"a_format": "float8_e4m3fn", "b_format": "float8_e4m3fn", "d_format": "bfloat16"}
FORMS = {
    "wide": Engine(**BF16, block_n=256),
    "two instructions wide": Engine(**BF16, block_n=320, stages=3, lag=1, spread=2, early=True),
    "two instructions wide, swapped": Engine(**BF16, block_n=320, stages=3, spread=2, swapped=True),
    "two instructions wide, A along m": Engine(**BF16, block_n=288, stages=3, spread=2, a_sides=True),
    "two instructions wide, D from registers": Engine(**BF16, block_n=320, stages=3, spread=2, direct=True),
    "two instructions wide, float8": Engine(**FP8, block_n=320, stages=3, spread=2),
    "odd width": Engine(**BF16, block_n=176),
    "operands along m and n": Engine(**BF16, block_n=256, a_sides=True, b_sides=True),
    "unaligned D": Engine(**BF16, block_n=256, stages=3, rows_store=True),
    "D whole": Engine(**BF16, block_n=256, stages=3, blocks=4),
    "D from registers": Engine(**BF16, block_n=256, direct=True),
    "D from registers, swapped": Engine(**BF16, block_n=256, direct=True, swapped=True),
    "swapped": Engine(**BF16, block_n=16, consumers=1, stages=8, swapped=True),
    "swapped, unaligned D": Engine(**BF16, block_n=64, stages=6, swapped=True, rows_store=True),
    "cluster over k": Engine(**BF16, block_n=128, stages=6, parts=8),
    "clusters over k": Engine(**BF16, block_n=128, stages=6, parts=8, groups=4),
    "groups over k": Engine(**BF16, block_n=16, consumers=1, stages=12, groups=4, swapped=True),
    "groups added later": Engine(**BF16, block_n=128, stages=7, spread=2, across=2, groups=30, later=True),
    "the same, lean": Engine(**BF16, block_n=128, stages=6, spread=2, across=2, groups=30, later=True, lean=True),
    "the same, held back": Engine(
        **BF16, block_n=128, stages=7, spread=2, across=2, groups=30, later=True, early=True, hold=True
    ),
    "the same, promoted": Engine(**FP8, block_n=128, stages=7, spread=2, groups=30, later=True, promote=1),
    "float8": Engine(**FP8, block_n=256),
    "float8 promoted": Engine(**FP8, block_n=128, stages=6, promote=1),
    "float32 by pieces": Engine(
        a_format="float16", b_format="float16", d_format="float32", block_n=128, stages=3, promote=1, pieces=2
    ),
    "float32 row by row": Engine(
        a_format="float16",
        b_format="float16",
        d_format="float32",
        block_n=128,
        stages=3,
        promote=1,
        pieces=2,
        spread=2,
        rows_store=True,
    ),
    "tfloat32": Engine(a_format="tfloat32", b_format="tfloat32", d_format="float32", block_n=192),
    "early": Engine(**BF16, block_n=128, early=True),
    "three warpgroups": Engine(**BF16, block_n=192, consumers=3, early=True),
    "three warpgroups, operands along m and n": Engine(
        **BF16, block_n=128, consumers=3, spread=2, a_sides=True, b_sides=True
    ),
    "three warpgroups, D from registers": Engine(**BF16, block_n=192, consumers=3, direct=True),
    "three warpgroups, unaligned D": Engine(**BF16, block_n=144, consumers=3, rows_store=True),
    "three warpgroups of tfloat32": Engine(
        a_format="tfloat32", b_format="tfloat32", d_format="float32", block_n=192, consumers=3
    ),
    "a batch": Engine(**BF16, block_n=256, batched=True),
    "a batch, operands along m and n": Engine(**BF16, block_n=128, a_sides=True, b_sides=True, spread=2, batched=True),
    "a batch, D from registers": Engine(**BF16, block_n=256, direct=True, batched=True),
    "a batch, swapped, unaligned D": Engine(**BF16, block_n=64, stages=6, swapped=True, rows_store=True, batched=True),
    "a batch, narrow": Engine(**BF16, block_n=8, consumers=1, stages=5, swapped=True, resident=4, batched=True),
    "a batch, clusters over k": Engine(**BF16, block_n=128, stages=6, parts=2, groups=2, batched=True),
    "a batch, groups added later": Engine(
        **BF16, block_n=128, stages=7, spread=2, across=2, groups=5, later=True, batched=True
    ),
    "a batch of float8, promoted": Engine(**FP8, block_n=128, stages=6, promote=1, batched=True),
    "a batch of tfloat32": Engine(
        a_format="tfloat32", b_format="tfloat32", d_format="float32", block_n=192, batched=True
    ),
}


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    """A form's machine code as text and what it takes: made and read once, by whichever worker of pytest asks first."""
    machine_code.need("cuda.bindings")
    from gemmlab.kernels.nvrtc import compiled

    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent

    def made(engine):
        path = folder / f"{hashlib.sha256(repr(engine).encode()).hexdigest()[:16]}.json"
        if not path.exists():
            text, headers = engine.text()
            fresh = path.with_suffix(f".{os.getpid()}")
            fresh.write_bytes(compiled(text, headers=headers).code)
            told = [machine_code.said(fresh, option) for option in ("-sass", "-res-usage")]
            fresh.write_text(json.dumps(told))
            fresh.replace(path)
        sass, usage = json.loads(path.read_text())
        return sass, machine_code.listed(usage)

    return made


@pytest.mark.parametrize("name", FORMS)
def test_instructions_and_registers(name, code):
    engine = FORMS[name]
    sass, usage = code(engine)
    opcodes = machine_code.opcodes_of(sass)
    product = "QGMMA" if engine.a_format.startswith("float8") else "HGMMA"
    times = 3 if engine.pieces == 2 else engine.halves
    assert sum(opcode.startswith(product) for opcode in opcodes) == 4 * times
    assert not usage.stack
    assert not usage.local
    assert not [opcode for opcode in opcodes if opcode.startswith(("LDL", "STL"))]
    assert usage.registers * engine.threads <= machine_code.REGISTERS_OF_SM
    assert engine.shared_bytes <= machine_code.SHARED_LIMIT
    # a launch behind may begin before this one ends, and this one waits for the one in front
    assert any(opcode.startswith("PREEXIT") for opcode in opcodes) == (engine.early and not engine.hold)
    assert any(opcode.startswith("ACQBULK") for opcode in opcodes) == engine.early
    rank = "3D" if engine.batched else "2D"
    assert any(opcode.startswith("UTMASTG") for opcode in opcodes) == (engine.store == 0 and engine.shares == 1)
    assert {opcode.split(".")[1] for opcode in opcodes if opcode.startswith(("UTMASTG", "UTMALDG"))} == {rank}


def innermost_loop(sass, opcode):
    """The shortest stretch of instructions that a branch back closes and that has all of an opcode's in it."""
    lines = [(int(at, 16), text) for at, text in re.findall(r"/\*([0-9a-f]{4,})\*/\s+([^;]+);", sass)]
    products = [at for at, text in lines if opcode in text]
    loops = []
    for at, text in lines:
        back = re.search(r"BRA\S*\s+(?:U?P\w+,\s*)?0x([0-9a-f]+)", text)
        if back and int(back[1], 16) <= products[0] and products[-1] < at:
            loops.append((int(back[1], 16), at))
    first, last = min(loops, key=lambda loop: loop[1] - loop[0])
    return [text for at, text in lines if first <= at <= last]


@pytest.mark.parametrize("name", FORMS)
def test_no_barrier_over_the_chip_inside_the_loop(name, code):
    """A fence over the GPU between two products would stop the pipeline: seen to cost a third of the time."""
    sass, _ = code(FORMS[name])
    loop = innermost_loop(sass, "QGMMA" if FORMS[name].a_format.startswith("float8") else "HGMMA")
    assert any("SYNCS" in text for text in loop), "it waits for a stage"
    assert not [text for text in loop if re.search(r"MEMBAR|CCTL|ERRBAR|UCGABAR", text)]
    # warps that part and meet again between two products: seen to cost 3 to 6 % where sums are promoted
    if FORMS[name].promote:
        assert not [text for text in loop if re.search(r"BSSY|BSYNC", text)]


@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if form.consumers > 1 and not form.lean])
def test_registers_that_warpgroups_hand_on_are_there(name, code):
    """Warpgroups that ask for more than the others gave back would wait for ever."""
    sass, usage = code(FORMS[name])
    fewer, more = sorted(int(found, 16) for found in re.findall(r"USETMAXREG\S*.*?(0x[0-9a-f]+)\s*;", sass))
    assert fewer < usage.registers < more
    assert 128 * (fewer + FORMS[name].consumers * more) <= usage.registers * FORMS[name].threads


def test_a_lean_engine_leaves_registers_for_programs_that_add_later(code, tmp_path):
    engine = FORMS["the same, lean"]
    _, usage = code(engine)
    from gemmlab.kernels.nvrtc import compiled

    text, headers = engine.adds_text()
    _, adds = machine_code.read(compiled(text, headers=headers).code, tmp_path)
    left = machine_code.REGISTERS_OF_SM - usage.registers * engine.threads
    assert adds.registers * 32 * engine.slices * engine.beside <= left
    assert engine.shared_bytes + adds.shared + 2048 <= machine_code.SHARED_LIMIT + 1024


@pytest.mark.parametrize("groups", [3, 8, 30, 132])
def test_adding_later_does_not_spill(groups, tmp_path):
    machine_code.need("cuda.bindings")
    from gemmlab.kernels.nvrtc import compiled

    engine = Engine(**BF16, block_n=32, consumers=1, groups=groups, later=True)
    text, headers = engine.adds_text()
    opcodes, usage = machine_code.read(compiled(text, headers=headers).code, tmp_path)
    assert not usage.stack
    assert not usage.local
    fours = [opcode for opcode in opcodes if opcode.startswith("LDG") and "128" in opcode]
    assert len(fours) == ceil_div(groups, engine.slices), "all on their way at once"


@pytest.mark.parametrize("name", ["unaligned D", "swapped, unaligned D"])
def test_rows_off_the_road_are_stored_sixteen_bytes_at_a_time(name, code):
    """Matrices of sums go to shared memory whole, and no element by itself but at the ends of rows."""
    opcodes = machine_code.opcodes_of(code(FORMS[name])[0])
    assert any(opcode.startswith("STSM") for opcode in opcodes)
    assert not [opcode for opcode in opcodes if opcode.startswith("STS.")]
    assert any(machine_code.having([opcode], "STG", "128") for opcode in opcodes)


@pytest.mark.parametrize("batched", [False, True])
def test_the_repack_does_not_spill_and_waits_once(batched, tmp_path):
    machine_code.need("cuda.bindings")
    from gemmlab.kernels.nvrtc import compiled
    from gemmlab.peak.multiply import PIECE_BYTES, REPACK_WARPS, repack_text

    text, headers = repack_text(batched)
    opcodes, usage = machine_code.read(compiled(text, headers=headers).code, tmp_path)
    assert not usage.stack
    assert not usage.local
    assert usage.registers * 32 * REPACK_WARPS * 4 <= machine_code.REGISTERS_OF_SM, "four blocks on an SM"
    begun = opcodes[: next(at for at, opcode in enumerate(opcodes) if opcode.startswith("STG"))]
    wide = [opcode for opcode in begun if opcode.startswith("LDG") and "128" in opcode]
    assert len(wide) == 2 * PIECE_BYTES // (32 * 16), "a piece's loads are all on their way before its first store"
