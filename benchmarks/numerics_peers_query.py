"""Ask mmasim for dot products: run by numerics_peers.py under the Python that has it; nothing of gemmlab is here.

    python numerics_peers_query.py FOLDER

Each line of stdin is a list of questions {"id", "interface", "architecture", "instruction", "k"}. For each it reads
FOLDER/<id>.npz with codes `a` and `b` (count, k of the chain), `c` (count,) and, for block scales, `a_scales` and
`b_scales` (count, blocks), chains instructions of `k` products over k, and writes FOLDER/<id>.d.npy, codes. Then it
prints one line: versions and CPU seconds.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from mmasim import amd, nv_ptx

WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
SIGNED = {1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}


def tensor(codes: np.ndarray, kind: torch.dtype) -> torch.Tensor:
    """Codes as a tensor of the type that they are of."""
    return torch.from_numpy(np.ascontiguousarray(codes).view(SIGNED[codes.dtype.itemsize])).view(kind)


def small(codes: np.ndarray, name: str, packed: bool) -> np.ndarray:
    """float4 and float6 codes as the peer holds them: two float4 a byte, or one in the bits that PTX says."""
    if packed:
        return codes[..., ::2] << 4 | codes[..., 1::2]
    return codes << 2 if name == "e2m1" else codes


def answer(asked: dict, data: dict) -> np.ndarray:
    """Codes of the chain of instructions."""
    module = amd if asked["interface"] == "MFMA" else nv_ptx
    operation = getattr(module, asked["interface"])(asked["architecture"], asked["instruction"])
    packed = getattr(operation, "packing", 1) == 2
    c = tensor(data["c"], operation.c_type)
    k = asked["k"]
    for start in range(0, data["a"].shape[1], k):
        sides = []
        for side in "ab":
            codes, kind = data[side][:, start : start + k], getattr(operation, f"{side}_type")
            if kind == torch.uint8:
                codes = small(codes, getattr(operation, f"{side}_type_ptx"), packed)
            sides.append(tensor(codes, kind))
        if "a_scales" in data:
            blocks = k // operation.block_size
            at = start // operation.block_size
            sides.append(c)
            sides += [tensor(data[f"{side}_scales"][:, at : at + blocks], operation.s_type) for side in "ab"]
            c = operation.dpa(*sides)
        else:
            c = operation.dpa(*sides, c)
    size = c.element_size()
    return c.view(WORDS[size]).numpy().view(f"u{size}")


def main() -> None:
    """Every line in turn."""
    torch.set_num_threads(1)
    folder = Path(sys.argv[1])
    for line in sys.stdin:
        seconds = 0.0
        for asked in json.loads(line):
            data = dict(np.load(folder / f"{asked['id']}.npz"))
            begin = time.process_time()
            found = answer(asked, data)
            seconds += time.process_time() - begin
            np.save(folder / f"{asked['id']}.d.npy", found)
        print(json.dumps({"mmasim": version("mmasim"), "torch": torch.__version__, "cpu_s": seconds}), flush=True)


if __name__ == "__main__":
    main()
