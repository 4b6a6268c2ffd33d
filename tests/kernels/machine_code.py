"""What compilers made for NVIDIA's chips: instructions in PTX and machine code, registers, spills, shared memory."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib import metadata, util

import pytest

#: bytes of a block on compute capability 9.0: CUDA C++ Programming Guide, technical specifications
SHARED_LIMIT = 227 * 1024
REGISTERS_OF_SM = 65_536
INSTALL = "tools/add-compilers .venv, as `make test` does"


@dataclass(frozen=True)
class Usage:
    """What a kernel takes, as the assembler or the disassembler says it; bytes but for registers."""

    registers: int
    stack: int
    spilled: int = 0  #: of stores and loads together
    local: int = 0
    shared: int = 0  #: what the kernel declares; what a launch asks for is not in it


def there(package):
    """Whether a module, or one within a package, can be imported."""
    try:
        return util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def lacking(what):
    """Skip for want of something, and say what installs it; fail where everything is said to be there."""
    (pytest.fail if os.environ.get("GEMMLAB_COMPILERS") else pytest.skip)(f"{what} not installed: {INSTALL}")


def need(*packages):
    """Skip, or fail, where one of them is missing."""
    if missing := [package for package in packages if not there(package)]:
        lacking(", ".join(missing))


def version(*distributions):
    """Names with their versions, of those that are installed."""
    found = []
    for name in distributions:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def tools(*names):
    """Paths of programs of CUDA's toolkit: those that Triton's package has, then the system's; skips without any."""
    triton = util.find_spec("triton")
    folder = os.path.join(os.path.dirname(triton.origin), "backends", "nvidia", "bin") if triton else ""
    found = [path for name in names for path in (os.path.join(folder, name), shutil.which(name)) if path]
    if not (found := [path for path in found if os.path.isfile(path)]):
        lacking(f"{names[0]}, which triton's package and CUDA's toolkit have,")
    return found


def read(code, folder):
    """Instructions of machine code by opcode with its suffixes, and what the kernel takes."""
    path = folder / "code.cubin"
    path.write_bytes(code)
    return opcodes_of(said(path, "-sass")), listed(said(path, "-res-usage"))


def said(path, option):
    """What cuobjdump tells of a file of machine code."""
    return subprocess.run([tools("cuobjdump")[0], option, str(path)], capture_output=True, text=True, check=True).stdout


def opcodes_of(sass):
    """Instructions by opcode with its suffixes, in their order."""
    opcodes = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9.]*)", sass)
    assert opcodes
    return opcodes


def listed(text):
    """What `cuobjdump -res-usage` says of the one kernel."""
    numbers = dict(re.findall(r"(REG|STACK|SHARED|LOCAL):(\d+)", text))
    return Usage(int(numbers["REG"]), int(numbers["STACK"]), 0, int(numbers["LOCAL"]), int(numbers["SHARED"]))


def told(text):
    """What `ptxas -v` says of the one kernel."""
    stack, stores, loads = map(
        int,
        re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", text).groups(),
    )
    shared = re.search(r"(\d+) bytes smem", text)
    local = re.search(r"(\d+) bytes lmem", text)
    return Usage(
        registers=int(re.search(r"Used (\d+) registers", text).group(1)),
        stack=stack,
        spilled=stores + loads,
        local=int(local.group(1)) if local else 0,
        shared=int(shared.group(1)) if shared else 0,
    )


def assembled(ptx, folder, arch="sm_90a"):
    """What the assembler says of PTX, by the first one there that knows the PTX's version."""
    path, refused = folder / "code.ptx", []
    path.write_text(ptx)
    for tool in tools("ptxas", "ptxas-blackwell"):  # the second is a newer ptxas, for older chips too
        command = [tool, "-v", f"-arch={arch}", str(path), "-o", str(folder / "again.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return told(done.stdout + done.stderr)
        refused.append(done.stderr)
    pytest.fail("\n".join(refused))


def instructions(ptx):
    """Instructions of PTX with their suffixes, as `ld.global.v4.f32`."""
    found = re.findall(r"^\s*(?:\{\s*)?(?:@!?%\w+\s+)?([a-z][a-z0-9_]*(?:\.[\w:]+)+|ret|exit)(?=[\s;])", ptx, re.M)
    assert found
    return found


def having(opcodes, *parts):
    """How many of them have all these parts."""
    return sum(set(parts) <= set(opcode.split(".")) for opcode in opcodes)
