"""What stands in machine code for NVIDIA's chips: registers, spills and instructions, by the vendor's disassembler."""

import os
import re
import shutil
import subprocess
from importlib import util

import pytest

SHARED_LIMIT = (
    232_448  # bytes of a block on compute capability 9.0: CUDA C++ Programming Guide, technical specifications
)


def disassembler():
    """The path of `cuobjdump`: the system's, or the one that Triton's package has; skips where there is none."""
    found = shutil.which("cuobjdump")
    triton = util.find_spec("triton")
    if found is None and triton is not None:
        found = os.path.join(os.path.dirname(triton.origin), "backends", "nvidia", "bin", "cuobjdump")
    if found is None or not os.path.isfile(found):
        pytest.skip("no cuobjdump: neither CUDA's toolkit nor triton is installed")
    return found


def read(code, folder):
    """Instructions by opcode with its suffixes, and the registers of a thread."""
    tool, path = disassembler(), folder / "code.cubin"
    path.write_bytes(code)

    def said(option):
        return subprocess.run([tool, option, str(path)], capture_output=True, text=True, check=True).stdout

    opcodes = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9.]*)", said("-sass"))
    registers = int(re.search(r"REG:(\d+)", said("-res-usage")).group(1))
    return opcodes, registers


def having(opcodes, *parts):
    """How many of them have all these parts."""
    return sum(set(parts) <= set(opcode.split(".")) for opcode in opcodes)
