"""The rungs in WGSL: what a formula counts, what the adapter counts, and what the emulator counts are one number."""

import numpy as np
import pytest

from gemmlab import kernels
from gemmlab.check import operands
from gemmlab.count import count
from gemmlab.emulator import emulate
from gemmlab.kernels.ladder import RUNGS, load
from gemmlab.kernels.ladder.webgpu import TEXTS, Text
from gemmlab.problem import Gemm
from gemmlab.run.backends.webgpu.contenders import CONTENDERS
from gemmlab.run.backends.webgpu.needs import operand_bytes
from gemmlab.run.checking import judged
from run.an_adapter import needs_adapter  # noqa: F401 - a fixture

LOW_WORD = 1 << 32
RAGGED = ((1, 1, 1), (16, 16, 16), (17, 15, 33), (33, 70, 100), (5, 130, 1), (100, 3, 47))
BY_NAME = {each.name: each for each in CONTENDERS}


def program(problem, name):
    from gemmlab.run.backends.webgpu.program import program as made

    return made(problem, name)


def counted(problem, name):
    """The same by the adapter, once placed."""
    made = program(problem, name)
    made.place(operands(problem, 0), 1)
    return made.counted()


def emulated(rung, m, n, k):
    """Elements that the emulator sees the numba.cuda rung load of A and of B."""
    a, b, c = np.ones((m, k), np.float32), np.ones((k, n), np.float32), np.zeros((m, n), np.float32)
    found = emulate(load(rung.source), *rung.launch(m, n), a, b, c, outputs=("c",), prove=False, threads=1)
    return found.arrays["a"].load.elements, found.arrays["b"].load.elements


@pytest.mark.usefixtures("needs_adapter")
@pytest.mark.parametrize("shape", RAGGED, ids=str)
@pytest.mark.parametrize("name", TEXTS)
def test_formula_adapter_and_emulator_count_the_same_loads(name, shape):
    problem = Gemm(*shape)
    rung = RUNGS[name]
    on_adapter = counted(problem, name)
    assert tuple(on_adapter) == emulated(rung, *shape)
    formula = count(problem, kernels.get(rung.counted_by, problem=problem, **rung.settings))
    assert sum(on_adapter) == formula.global_load_elements


@pytest.mark.usefixtures("needs_adapter")
@pytest.mark.parametrize("width", [1, 3, 8, 12, 16])
def test_a_tile_of_any_width_loads_what_the_formula_says(width):
    problem = Gemm(37, 29, 41)
    tiled = kernels.get("tiled", problem=problem, tile=(width, width, width))
    assert sum(counted(problem, f"tiled:{width}")) == count(problem, tiled).global_load_elements


@pytest.mark.usefixtures("needs_adapter")
@pytest.mark.parametrize("before", [LOW_WORD - 1, LOW_WORD - 700, 3 * LOW_WORD - 5])
def test_a_count_goes_on_past_32_bits(before):
    from gemmlab.run.backends.webgpu.program import Loads

    made = program(Gemm(33, 70, 100), "tiled")
    made.place(operands(made.problem, 0), 1)
    assert made.counted(Loads(before, before + 2)) == made.counted()


@pytest.mark.usefixtures("needs_adapter")
@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("name", BY_NAME)
def test_equals_the_product_in_every_layout_with_gaps_and_offsets(name, layout):
    given = {"lda": 70, "ldb": 75, "ldc": 80, "a_offset_bytes": 8, "b_offset_bytes": 12, "c_offset_bytes": 4}
    for formats in ({}, {"a_format": "float16"}, {"a_format": "float16", "d_format": "float32", "c_format": "float32"}):
        problem = Gemm(33, 70, 65, layout=layout, **given, **formats)
        made, random = program(problem, BY_NAME[name].source.partition(":program:")[2]), operands(problem, 3)
        if "shader-f16" not in made.device.features and formats:
            pytest.skip(f"{made.device.adapter.name} offers no shader-f16")
        made.place(random, 2)
        assert made.elapsed([0, 1]) > 0
        found = judged(problem, random, made.result(1), BY_NAME[name])
        assert found.ok
        assert found.informative
        made.poison()
        assert judged(problem, random, made.result(0), BY_NAME[name]).unwritten_elements == 33 * 70


@pytest.mark.usefixtures("needs_adapter")
@pytest.mark.parametrize("shape", RAGGED, ids=str)
@pytest.mark.parametrize("name", [*TEXTS, "tiled:7"])
def test_equals_the_product_at_ragged_shapes(name, shape):
    problem = Gemm(*shape)
    made, random = program(problem, name), operands(problem, shape[0])
    made.place(random, 1)
    made.elapsed([0])
    assert judged(problem, random, made.result(0), BY_NAME["tiled"]).ok


def test_a_text_launches_and_tiles_as_its_twin_in_numba_does():
    for name, text in TEXTS.items():
        assert text.tile == RUNGS[name].tile
        assert (*text.grid(1000, 3000), 1) == RUNGS[name].launch(1000, 3000)[0]
        assert (text.invocations, 1) == (np.prod(RUNGS[name].block), RUNGS[name].block[2])


def test_a_text_names_its_formats_before_all_else():
    text = TEXTS["tiled"]
    assert text.source("float32", "float32").startswith("alias In = f32;\nalias Out = f32;\n")
    assert text.source("float16", "float32").startswith("enable f16;\nalias In = f16;\nalias Out = f32;\n")
    assert text.with_tile(8).constants(counted=True) == {"TILE": 8, "COUNTED": 1}
    assert text.with_tile(8).workgroup_bytes == 2 * 8 * 8 * 4


def test_a_text_of_ones_own_stands_alone(tmp_path):
    file = tmp_path / "mine.wgsl"
    file.write_text("// mine")
    text = Text("main", str(file), (4, 8), entry="main", rung=False)
    assert text.source("float16", "float16") == "// mine"
    assert (text.constants(counted=True), text.invocations, text.grid(9, 9)) == ({}, 0, (2, 3))


def test_buffers_are_whole_words_with_offset_and_gaps():
    problem = Gemm(3, 5, 7, "float16", lda=8, a_offset_bytes=2)
    assert operand_bytes(problem, "a") == (1 + 3 * 8) * 2 + 2
    assert operand_bytes(problem, "b") == 7 * 5 * 2 + 2
    assert operand_bytes(Gemm(3, 5, 7, "float16", d_format="float32"), "c") == 15 * 4
