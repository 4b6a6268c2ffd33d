"""The rungs in Triton, without a GPU: values in its interpreter, instructions in machine code for Hopper."""

import os
import subprocess
import sys
from importlib import metadata, util
from pathlib import Path

import pytest

from kernels.machine_code import SHARED_LIMIT, having, read

ROOT = Path(__file__).parents[2]

INTERPRETED = """
import torch
from gemmlab.run.backends.triton.program import persistent_launch, tensor_launch
small = {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP": 2}
launches = {"tensor": tensor_launch(small), "halves": persistent_launch(3, small)}
launches["whole"] = persistent_launch(3, small | {"PARTS": 1})
torch.manual_seed(0)
for m, n, k in ((100, 72, 40), (33, 8, 8), (40, 136, 96)):
    for turned in (False, True):
        a = torch.randint(-3, 4, (m, k)).half()
        b = torch.randint(-3, 4, (n, k)).half().T if turned else torch.randint(-3, 4, (k, n)).half()
        for name, launch in launches.items():
            c = torch.full((m, n), float("nan")).half()
            launch(a, b, c)
            assert (c.double() == a.double() @ b.double()).all(), (name, m, n, k, turned)
a, b = torch.randint(-3, 4, (37, 29)).half(), torch.randint(-3, 4, (29, 41)).half()  # rows that no descriptor takes
c = torch.full((37, 41), float("nan")).half()
launches["tensor"](a, b, c)
assert (c.double() == a.double() @ b.double()).all()
"""


def need(*packages):
    for package in packages:
        if util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")


def test_values_on_ragged_shapes():
    """float16: the interpreter of Triton 3.6 does not multiply bfloat16 as numbers."""
    need("triton", "torch")
    if tuple(map(int, metadata.version("numpy").split(".")[:2])) >= (2, 4):
        pytest.skip("Triton's interpreter needs numpy below 2.4")
    environment = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", INTERPRETED], check=True, env=environment)


def compiled(kernel, types, sizes, options):
    from triton import compile as compile_kernel
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = {name: "constexpr" if name in sizes else types[name] for name in kernel.arg_names}
    whole = {name for name, kind in types.items() if not kind.startswith("tensordesc")}
    attributes = {
        (place,): [["tt.divisibility", 16]] for place, name in enumerate(kernel.arg_names) if name in whole - set(sizes)
    }
    source = ASTSource(fn=kernel, signature=signature, constexprs=sizes, attrs=attributes)
    return compile_kernel(source, target=GPUTarget("cuda", 90, 32), options=options)


@pytest.mark.parametrize("turned", [False, True])
def test_persistent_uses_the_copy_engine_and_wgmma(turned, tmp_path):
    need("triton")
    from gemmlab.kernels.ladder.triton import persistent

    sizes = {**persistent.SIZES, "PROGRAMS": 132, "TURNED": turned}
    m, n, k, parts = (sizes[name] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K", "PARTS"))
    tile_of_b = f"{n},{k}" if turned else f"{k},{n}"
    types = {"a": f"tensordesc<bf16[{m},{k}]>", "b": f"tensordesc<bf16[{tile_of_b}]>"}
    types |= {"c": f"tensordesc<bf16[{m},{n // parts}]>", "m": "i32", "n": "i32", "k": "i32"}
    made = compiled(persistent.kernel, types, sizes, persistent.OPTIONS)
    opcodes, registers = read(made.asm["cubin"], tmp_path)
    assert having(opcodes, "HGMMA") > 0
    assert having(opcodes, "UTMALDG") > 0
    assert having(opcodes, "UTMASTG") > 0
    assert having(opcodes, "LDL") == having(opcodes, "STL") == 0
    assert registers <= 255
    assert made.metadata.shared <= SHARED_LIMIT


def test_tensor_uses_wgmma(tmp_path):
    need("triton")
    from gemmlab.kernels.ladder.triton import tensor

    types = dict.fromkeys("abc", "*bf16") | dict.fromkeys(("m", "n", "k", "a_row", "b_row", "c_row"), "i32")
    made = compiled(tensor.kernel, types, {**tensor.SIZES, "a_col": 1, "b_col": 1}, tensor.OPTIONS)
    opcodes, _ = read(made.asm["cubin"], tmp_path)
    assert having(opcodes, "HGMMA") > 0
    assert having(opcodes, "LDGSTS") > 0
    assert having(opcodes, "LDL") == having(opcodes, "STL") == 0
    assert made.metadata.shared <= SHARED_LIMIT
