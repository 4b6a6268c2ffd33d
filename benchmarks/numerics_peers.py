"""Matrix units of gemmlab beside those of mmasim, bit for bit, on random and adversarial dot products.

    python -m venv PEER && PEER/bin/pip install torch ninja numpy mmasim==2.1.1
    python benchmarks/numerics_peers.py --peer PEER/bin/python [--vectors 100000] [--silicon FOLDER]

Every unit that both have, in every pair of formats it takes; chains of two instructions with C. A result differs where
its code differs, NaN included where the unit promises its code. `--silicon` is a folder of recordings of real chips
<chip>_<format>.npz, as `gemmlab.numerics.verify` reads them, with mismatches of both on them: they decide who is right
where the two differ, and where mmasim has no entry its nearest one is taken. mmasim is installed by whoever runs this,
into an environment of its own.
"""

import argparse
import datetime
import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from emulator_peers import processor
from gemmlab import formats, numerics
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.operands import typed
from gemmlab.numerics.verifying import outputs
from numerics_vectors import Vectors, vectors

HERE = Path(__file__).parent
PTX = {
    "float16": "f16", "bfloat16": "bf16", "tfloat32": "tf32", "float64": "f64", "float32": "f32",
    "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "float6_e3m2fn": "e3m2", "float6_e2m3fn": "e2m3",
    "float4_e2m1fn": "e2m1", "float8_e8m0fnu": "ue8m0",
}  # fmt: skip
ARCHITECTURES = {
    "volta": "Volta", "turing": "Turing", "ampere": "Ampere", "ada": "Ada Lovelace", "hopper": "Hopper",
    "blackwell": "Blackwell", "rtx-blackwell": "RTX Blackwell",
}  # fmt: skip
AMD = {
    "cdna1.mfma.float32": "f32_32x32x2f32", "cdna1.mfma.float16": "f32_32x32x8f16",
    "cdna1.mfma.bfloat16": "f32_32x32x4bf16", "cdna2.mfma.float32": "f32_32x32x2f32",
    "cdna2.mfma.float64": "f64_16x16x4f64", "cdna2.mfma.float16": "f32_32x32x8f16",
    "cdna2.mfma.bfloat16": "f32_32x32x4bf16", "cdna2.mfma.bfloat16_1k": "f32_32x32x8bf16_1k",
    "cdna3.mfma.float32": "f32_32x32x2_f32", "cdna3.mfma.float64": "f64_16x16x4_f64",
    "cdna3.mfma.float16": "f32_32x32x8_f16", "cdna3.mfma.bfloat16": "f32_32x32x8_bf16",
    "cdna3.mfma.xf32": "f32_32x32x4_xf32",
}  # fmt: skip
FNUZ = {"float8_e4m3fnuz": "fp8", "float8_e5m2fnuz": "bf8"}
#: instructions of fewer k than a fused sum has
NARROW = {
    ("hopper.mma.bfloat16", "blackwell.mma.bfloat16", "rtx-blackwell.mma.bfloat16"): 8,
    ("hopper.mma.float16", "blackwell.mma.float16", "rtx-blackwell.mma.float16"): 8,
    ("hopper.mma.tfloat32", "blackwell.mma.tfloat32", "rtx-blackwell.mma.tfloat32"): 4,
    ("ampere.mma.tfloat32", "ada.mma.tfloat32"): 4,
    ("ampere.mma.float16", "ada.mma.float16", "ampere.mma.bfloat16", "ada.mma.bfloat16"): 8,
    ("ada.mma.float8_e4m3fn", "ada.mma.float8_e5m2"): 16,
}
CHIPS = {"v100": "volta", "a100": "ampere", "ada": "ada", "h100": "hopper", "h200": "hopper", "b200": "blackwell"}
#: where mmasim has no entry for an instruction, the one that takes the same formats on the same architecture
NEAREST = {"hopper.mma.float8": "hopper.wgmma.float8", "blackwell.mma.float8": "blackwell.tcgen05.float8"}
#: disagreements that no recording decides
REASONS = {
    "cdna3.mfma.float8": "mmasim takes the exponent of a NaN or infinite C from torch.frexp, which has none, and drops "
    "C where that lies far below the products'; its own float16 and bfloat16 entries keep it, as gemmlab does here",
}


def question(unit: Unit, a_format: str, b_format: str, scale_format: str) -> dict | None:
    """The peer's name of an instruction; None where it has none."""
    architecture, kind, *_ = unit.name.split(".")
    if architecture.startswith("cdna"):
        suffix = AMD.get(unit.name)
        if a_format in FNUZ:
            suffix = f"f32_32x32x16_{FNUZ[a_format]}_{FNUZ[b_format]}"
        return suffix and {"interface": "MFMA", "architecture": architecture.upper(), "instruction": suffix}
    if architecture not in ARCHITECTURES or unit.sum == "integer" or unit.read_as or kind == "fma":
        return None
    a, b, d = PTX[a_format], PTX[b_format], PTX[unit.accumulate]
    small = unit.scaled or formats.bits_of(a_format) < 16
    interface = {"mma": "MMA", "wgmma": "WGMMA", "tcgen05": "TCGen05MMA"}[kind]
    side = "m64n8" if kind in ("wgmma", "tcgen05") else "m16n8"
    if unit.accumulate == "float64" or architecture == "volta":
        side = "m8n8"
    parts = [f"{side}k{unit.k}", d, a, b]
    if kind == "mma":
        parts.append(d)
    if kind == "tcgen05" or (architecture == "rtx-blackwell" and small and unit.k != 16):
        family = "f8f6f4" if small else "tf32" if a == "tf32" else "f16"
        parts.insert(1, f"kind::{family}")
    if unit.scaled:
        interface += "BlockScale"
        family = "mxf8f6f4" if unit.exact_terms == 1 else "mxf4" if unit.scale_block == 32 else "mxf4nvf4"
        parts[:2] = [parts[0].replace("m64", "m128"), f"kind::{family}.block{unit.scale_block}"]
        parts.append("ue4m3" if scale_format == "float8_e4m3fn" else PTX[scale_format])
    return {"interface": interface, "architecture": ARCHITECTURES[architecture], "instruction": ".".join(parts)}


def variants(unit: Unit) -> list[Unit]:
    """The unit, and what it does in an instruction of fewer k than its fused sum has."""
    narrow = next((k for names, k in NARROW.items() if unit.name in names), 0)
    return [unit, numerics.Schedule(instruction_k=narrow).on(unit)] if narrow else [unit]


def cases(unit: Unit) -> list[dict]:
    """What the peer is asked about a unit: one question a pair of formats and format of scales."""
    found = []
    for a, b, scale in itertools.product(unit.a_formats, unit.b_formats, unit.scale_formats or ("",)):
        asked = question(unit, a, b, scale)
        if asked:
            identity = "-".join(filter(None, (unit.name, a, b, scale)))
            found.append(asked | {"id": identity, "unit": unit.name, "k": unit.k, "formats": [a, b, scale]})
    return found


def ours(unit: Unit, told: dict, given: Vectors) -> np.ndarray:
    """Codes as gemmlab computes them."""
    a, b, scale = told["formats"]
    around = {}
    if given.a_scales is not None:
        around = {"a_scales": typed(given.a_scales, scale), "b_scales": typed(given.b_scales, scale)}
    found = numerics.dots(unit, given.a, given.b, given.c, a_format=a, b_format=b, **around)
    return found.view(given.c.dtype)


def differing(unit: Unit, mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Where the codes differ; any NaN is any other where the unit promises none."""
    wrong = mine != theirs
    if unit.nan == "ieee":
        both = [np.isnan(formats.decode_array(codes, unit.accumulate)) for codes in (mine, theirs)]
        wrong &= ~(both[0] & both[1])
    return wrong


def example(told: dict, given: Vectors, at: int, mine: np.ndarray, theirs: np.ndarray) -> dict:
    """The first vector that differs, in codes."""
    shown = {name: each[at].tolist() for name, each in given._asdict().items() if each is not None}
    return {"formats": told["formats"], "gemmlab": hex(mine[at]), "mmasim": hex(theirs[at]), **shown}


def installed(python: str) -> bool:
    """Whether that Python has the peer."""
    try:
        found = subprocess.run([python, "-c", "import mmasim, torch"], capture_output=True, check=False)
    except OSError:
        return False
    return found.returncode == 0


class Peer:
    """mmasim in its own Python, one process for all questions."""

    def __init__(self, python: str, folder: Path) -> None:
        command = [python, str(HERE / "numerics_peers_query.py"), str(folder)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, asked: list[dict]) -> dict:
        """Its versions and seconds; its answers lie in the folder."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"the peer ended with status {self.process.wait()}")
        told: dict = json.loads(line)
        return told

    def end(self) -> None:
        """Let it go."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def compared(unit: Unit, asked: list[dict], peer: Peer, folder: Path, total: int, seed: int) -> tuple[dict, dict]:
    """One unit's row, and the peer's versions."""
    count = -(-total // len(asked))
    k = unit.k if unit.scaled else max(2 * unit.k, 8)
    kept, spent = [], 0.0
    for number, told in enumerate(asked):
        random = np.random.default_rng([seed, number, *unit.name.encode()])
        given = vectors(unit, *told["formats"], count, k, random)
        np.savez(folder / f"{told['id']}.npz", **{n: each for n, each in given._asdict().items() if each is not None})
        begin = time.process_time()
        kept.append((told, given, ours(unit, told, given)))
        spent += time.process_time() - begin
    answered = peer.ask(asked)
    wrong, special, first = 0, 0, None
    for told, given, mine in kept:
        answers = folder / f"{told['id']}.d.npy"
        theirs = np.load(answers)
        places = np.flatnonzero(differing(unit, mine, theirs))
        wrong += places.size
        special += int((~np.isfinite(formats.decode_array(mine[places], unit.accumulate))).sum())
        if places.size and first is None:
            first = example(told, given, int(places[0]), mine, theirs)
        answers.unlink()
        (folder / f"{told['id']}.npz").unlink()
    row = {
        "unit": unit.name,
        "instruction_k": unit.k,
        "instructions": [told["instruction"] for told in asked],
        "vectors": count * len(asked),
        "k": k,
        "checked_on_silicon": unit.silicon,
        "gemmlab_cpu_s": round(spent, 3),
        "mmasim_cpu_s": round(answered.pop("cpu_s"), 3),
        "disagreements": wrong,
    }
    if wrong:
        reason = next((text for name, text in REASONS.items() if unit.name.startswith(name)), "")
        row |= {"where_gemmlab_says_nan_or_infinity": special, "reason": reason, "first": first}
    return row, answered


def silicon(folder: Path, peer: Peer, made: Path) -> list[dict]:
    """Mismatches of both on recordings of real chips, one row an output."""
    rows = []
    for file in sorted(folder.glob("*.npz")):
        chip, name = file.stem.split("_", 1)
        for output in outputs(file):
            wgmma = CHIPS[chip] == "hopper" and name.startswith("float8") and output == "float32"
            found = numerics.verify(file, f"{CHIPS[chip]}.{'wgmma' if wgmma else 'mma'}.{name}", output)
            nearest = next(
                (found.unit.replace(old, new) for old, new in NEAREST.items() if found.unit.startswith(old)), ""
            )
            unit = numerics.unit(nearest or found.unit)
            asked = question(unit, name, name, "") or sys.exit(f"no entry for {unit.name}")
            words = dict(np.load(file))
            a, b, c, d = (
                formats.encode_array(words[key].view(np.float32), form)
                for key, form in (("a", name), ("b", name), ("c", output), (f"d_{output}", output))
            )
            np.savez(made / "silicon.npz", a=a, b=b, c=np.zeros_like(c) if found.without_c else c)
            peer.ask([asked | {"id": "silicon", "k": min(unit.k, found.k)}])
            row = {"file": file.stem, "output": output, "dot_products": found.total, "unit": found.unit,
                   "without_c": found.without_c, "gemmlab_mismatches": found.mismatches,
                   "mmasim_mismatches": int((np.load(made / "silicon.d.npy") != d).sum()),
                   "mmasim_entry": f"{asked['architecture']} {asked['instruction']}",
                   "mmasim_has_the_instruction": not nearest}  # fmt: skip
            rows.append(row)
            print(f"{row['file']:22} {output} {row['unit']:38} mismatches {row['gemmlab_mismatches']}, "
                  f"mmasim {row['mmasim_mismatches']}{' (nearest entry)' * bool(nearest)}", flush=True)  # fmt: skip
    return rows


def main() -> None:
    """Compare every unit, write the rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", required=True, help="the Python that has mmasim")
    parser.add_argument("--vectors", type=int, default=100_000, help="of each unit, all pairs of formats together")
    parser.add_argument("--units", default="", help="only units whose name begins so")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--silicon", type=Path, help="folder of recordings of real chips")
    parser.add_argument("--out", default="benchmarks/results/numerics_peers.json")
    options = parser.parse_args()
    if not installed(options.peer):
        print(f"mmasim is not installed under {options.peer}: nothing is compared, nothing written")
        return
    rows, alone, versions = [], [], {}
    named = [numerics.unit(name) for name in numerics.unit_names() if name.startswith(options.units)]
    chosen = [variant for unit in named for variant in variants(unit)]
    with tempfile.TemporaryDirectory() as made:
        peer = Peer(options.peer, Path(made))
        for unit in chosen:
            asked = cases(unit)
            if not asked:
                alone.append(unit.name)
                continue
            row, versions = compared(unit, asked, peer, Path(made), options.vectors, options.seed)
            rows.append(row)
            print(f"{unit.name:38} k{unit.k:<3} {row['vectors']:7} vectors {row['disagreements']:6} differ "
                  f"{row['gemmlab_cpu_s']:8.2f} s, mmasim {row['mmasim_cpu_s']:8.2f} s", flush=True)  # fmt: skip
        recorded = silicon(options.silicon, peer, Path(made)) if options.silicon else []
        peer.end()
    result = {
        "what": "emulated: dot products whose code differs between gemmlab and mmasim, random and adversarial operands",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "versions": versions | {"python": platform.python_version(), "numpy": np.__version__},
        "seed": options.seed,
        "units_compared": len({row["unit"] for row in rows}),
        "disagreements": sum(row["disagreements"] for row in rows),
        "rows": rows,
        "units_mmasim_has_not": alone,
        "silicon": recorded,
    }
    Path(options.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
