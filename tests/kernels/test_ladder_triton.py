"""The rungs in Triton, without a GPU: values in its interpreter, instructions in machine code for Hopper."""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from kernels.machine_code import REGISTERS_OF_SM, SHARED_LIMIT, assembled, having, instructions, need, read, version

ROOT = Path(__file__).parents[2]
FORMATS = {"float16": ("fp16", "f16"), "bfloat16": ("bf16", "bf16")}  # in Triton's words, and in PTX
LAYOUTS = {"tensor": ("nn", "nt", "tn", "tt"), "persistent": ("nn", "nt")}
#: of each rung: its shipped sizes on edges of its own tile, then small tiles, so that there are many of them
CASES = {
    "tensor": (
        "own:200x328x136",
        "own:257x129x65",
        "small:100x72x40",
        "small:37x41x29",
        "small:1x1x1",
        "far:130x40x130",
    ),
    "persistent": ("own:300x520x136", "own:129x8x72", "small:100x72x40", "whole:100x72x40", "whole:33x8x8"),
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("rung", "layout"), [(rung, layout) for rung in LAYOUTS for layout in LAYOUTS[rung]])
def test_values_on_ragged_shapes(rung, layout, form, record_property):
    need("triton")
    record_property("ran with", version("triton", "numpy"))
    cases = [f"{rung}:{case}" for case in CASES[rung]]
    paths = os.pathsep.join((str(ROOT / "src"), str(ROOT / "tests")))
    command = [sys.executable, "-m", "kernels.interpreted", form, layout, *cases]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": paths})
    assert done.returncode == 0, (version("triton", "numpy"), done.stderr[-2000:])
    right = {"ok": True, "wrong": 0, "unwritten": 0, "outside": 0}
    for case, line in zip(cases, done.stdout.splitlines(), strict=True):
        verdict = json.loads(line)
        informative = verdict.pop("informative")
        assert informative or case.endswith(":1x1x1"), case
        assert verdict == right, case


def test_the_layouts_are_those_that_the_rungs_take():
    from gemmlab.problem import Gemm
    from gemmlab.record import GemmlabError
    from gemmlab.run.backends.triton.program import program

    for rung, layout in product(LAYOUTS, ("nn", "nt", "tn", "tt")):
        with pytest.raises(GemmlabError) as refused:  # without a GPU all are, for one reason or the other
            program(Gemm(64, 64, 64, "float16", layout=layout), f"{rung}:nothing=1")
        assert ("is none of the kernel's" in str(refused.value)) == (layout not in LAYOUTS[rung])


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """What Triton makes of a kernel for an H100 or H200: its PTX, machine code and shared memory."""
    need("triton")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # as it is where nobody says; Triton 3.9 asks to say it
    from triton import compile as compile_kernel
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    def of(kernel, types, sizes, options, aligned):
        signature = {name: "constexpr" if name in sizes else types[name] for name in kernel.arg_names}
        attributes = {(kernel.arg_names.index(name),): [["tt.divisibility", 16]] for name in aligned}
        source = ASTSource(fn=kernel, signature=signature, constexprs=sizes, attrs=attributes)
        return compile_kernel(source, target=GPUTarget("cuda", 90, 32), options=options)

    return of


def fits(made, folder, warps):
    """The opcodes of a kernel that keeps everything in registers and fits a multiprocessor."""
    opcodes, usage = read(made.asm["cubin"], folder)
    said = assembled(made.asm["ptx"], folder)
    assert said.spilled == said.local == usage.local == 0
    assert said.stack == usage.stack == 0
    assert having(opcodes, "LDL") == having(opcodes, "STL") == 0
    assert usage.registers * 32 * warps <= REGISTERS_OF_SM
    assert 0 < made.metadata.shared <= SHARED_LIMIT
    assert made.metadata.num_warps == warps
    return opcodes


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("layout", LAYOUTS["tensor"])
def test_tensor_uses_wgmma(layout, form, aligned, compiled, tmp_path):
    """As it is launched: strides of 1 are constants, and Triton is told what is a multiple of 16."""
    from gemmlab.kernels.ladder.triton import tensor

    ones = {("a_row" if layout[0] == "t" else "a_col"): 1, ("b_row" if layout[1] == "t" else "b_col"): 1}
    numbers = {"m", "n", "k", "a_row", "a_col", "b_row", "b_col", "c_row"} - set(ones)
    word, element = FORMATS[form]
    types = dict.fromkeys("abc", f"*{word}") | dict.fromkeys(numbers, "i32")
    made = compiled(tensor.kernel, types, {**tensor.SIZES, **ones}, tensor.OPTIONS, types if aligned else ())
    opcodes = fits(made, tmp_path, tensor.OPTIONS["num_warps"])
    ptx = instructions(made.asm["ptx"])
    assert having(ptx, "wgmma", "mma_async", "m64n128k16", element) == having(opcodes, "HGMMA") > 0
    assert having(opcodes, "HMMA") == 0  # the slower instruction of older chips
    if aligned:  # whole rows of 16 bytes go past the registers
        assert having(opcodes, "LDGSTS", "128") == having(opcodes, "LDGSTS") > 0


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("settings", ["", "num_stages=4", "PARTS=1"])
def test_persistent_uses_the_copy_engine_and_wgmma(settings, form, turned, compiled, tmp_path):
    """Its own settings and those that were timed beside them; one that does not fit is refused where it is launched."""
    from gemmlab.kernels.ladder.triton import persistent
    from gemmlab.run.backends.triton.program import settings_of

    own, options = settings_of(settings)
    sizes = {**persistent.SIZES, **own, "PROGRAMS": 132, "TURNED": turned}
    m, n, k, parts = (sizes[name] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K", "PARTS"))
    (word, element), tile_of_b = FORMATS[form], f"{n},{k}" if turned else f"{k},{n}"
    types = {"a": f"tensordesc<{word}[{m},{k}]>", "b": f"tensordesc<{word}[{tile_of_b}]>"}
    types |= {"c": f"tensordesc<{word}[{m},{n // parts}]>", "m": "i32", "n": "i32", "k": "i32"}
    made = compiled(persistent.kernel, types, sizes, {**persistent.OPTIONS, **options}, "mnk")
    opcodes = fits(made, tmp_path, persistent.OPTIONS["num_warps"])
    ptx = instructions(made.asm["ptx"])
    assert having(ptx, "wgmma", "mma_async", "m64n256k16", element) == having(opcodes, "HGMMA") > 0
    # tiles of A and B come, and parts of C go, without a thread that carries them
    copies = [name for name in ptx if name.startswith("cp.async.bulk.tensor")]
    fetched = [name for name in copies if ".global.mbarrier::complete_tx::bytes" in name]
    stored = [name for name in copies if ".global.shared::cta" in name]
    assert len(fetched) + len(stored) == len(copies)
    assert len(fetched) >= 2
    assert len(stored) % parts == 0 < len(stored)  # a part is more than one box of the copy engine
    assert having(opcodes, "UTMALDG") >= len(fetched)  # the assembler may write one twice
    assert having(opcodes, "UTMASTG") >= len(stored)
    assert having(opcodes, "LDG") == having(opcodes, "STG") == having(opcodes, "LDGSTS") == 0
