"""The tables of what an H200's tensor cores gave, and of mmasim beside gemmlab, from what the benchmarks wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from measured import result
from tables import table

FACES = (
    ("wgmma float8_e4m3fn x float8_e4m3fn -> float32", "FP8 on its own tensor core (wgmma)"),
    ("imprecise0 float8_e4m3fn x float8_e4m3fn -> float32", "FP8, Triton's max_num_imprecise_acc = 0"),
    ("mma float8_e4m3fn x float8_e4m3fn -> float32", "FP8, block_m = 32"),
    ("mma.sync float8_e4m3fn x float8_e4m3fn -> float32", "FP8, mma.sync"),
    ("wgmma float16 x float16 -> float32", "float16"),
)


def where() -> str:
    """The chip, the date and the versions."""
    found = result("h200_numerics")
    versions = ", ".join(f"{name} {found['versions'][name]}" for name in ("torch", "triton"))
    return f"Measured {found['date']} on one {found['chip']}, driver {found['driver']}, {versions}"


def matrix_opcode(opcodes: dict[str, int]) -> str:
    """The matrix instruction among opcodes, and that operands are unpacked first."""
    matrix = next((name for name in opcodes if "MMA" in name), "none")
    return f"`{matrix}`" + (", unpacked first" if any("UNPACK" in name for name in opcodes) else "")


def faces() -> str:
    """What the same FP8 operands meet on one chip, by instruction, measured beside emulated."""
    found = result("h200_numerics")
    probes = {each["name"]: each for each in found["probes"]}
    plateaus = {each["name"]: each["plateau"] for each in found["truncation"]}
    units = {each["name"]: each["compiled"] for each in found["sets"]}
    rows = []
    for name, said in FACES:
        if name not in probes:
            continue
        told = probes[name]
        measured = plateaus.get(name)
        rows.append(
            [
                said,
                matrix_opcode(told["opcodes"]),
                str(told["P1"]),
                str(told["P2"]),
                f"{told['P5']:.0f}",
                f"{told['P12']['32768']:,.0f}",
                "-" if measured is None else str(measured),
                str(emulated_plateau(units[name])),
            ]
        )
    heads = ["", "instruction", "bits stored", "bits aligned to", "products at once", "32,768 ones", "low bits unseen"]
    return f"{where()}; the last column is emulated.\n\n" + table([*heads, "the same, emulated"], rows)


def emulated_plateau(compiled: dict[str, Any]) -> int | None:
    """Low bits that can be cleared unseen of the unit that the machine code is."""
    import msgspec

    from gemmlab.numerics import truncation_sweep
    from gemmlab.numerics.sass import Compiled

    return truncation_sweep(msgspec.convert(compiled, Compiled).unit()).plateau


def sets() -> str:
    """Outputs of every kind of multiplication, compared bit for bit."""
    found = result("h200_numerics")
    rows = [
        [each["name"], matrix_opcode(each["compiled"]["opcodes"]), f"{each['outputs']:,}", f"{each['mismatches']:,}"]
        for each in found["sets"]
    ]
    return f"{where()}; mismatches are outputs whose bits differ from the emulation's.\n\n" + table(
        ["multiplication", "instruction", "outputs", "mismatches"], rows
    )


def wholes() -> str:
    """Whole multiplications by schedule, all formats and ways together."""
    found = result("h200_numerics")
    told: dict[str, list[int]] = {}
    for each in found["wholes"]:
        sums = told.setdefault(each["what"], [0, 0, 0])
        for place, value in enumerate((1, each["outputs"], each["mismatches"])):
            sums[place] += value
    rows = [[what, str(count), f"{outputs:,}", f"{wrong:,}"] for what, (count, outputs, wrong) in told.items()]
    m, n, k = found["wholes"][0]["size"]
    return f"{where()}; {m} x {n} x {k}.\n\n" + table(["schedule", "kernels", "outputs", "mismatches"], rows)


def libraries() -> str:
    """The schedule under which the emulation gives every bit of a library's product."""
    found = result("h200_numerics")
    rows = []
    for each in found["libraries"]:
        tried = {key.rpartition("= ")[2]: value for key, value in each.items() if key.startswith("differ with promote")}
        right = [promote for promote, differ in tried.items() if differ == 0]
        said = "none of those tried" if not right else "one accumulator" if right == ["0"] else f"every {right[0]}"
        rows.append([each["name"], f"`{each['kernel'][:48]}`", said])
    return f"{where()}; the kernel is the library's choice.\n\n" + table(
        ["product", "kernel", "promotion that gives every bit"], rows
    )


def peers() -> str:
    """Disagreements with mmasim, counted by unit."""
    found = result("numerics_peers")
    rows = [row for row in found["rows"] if row["disagreements"]]
    vectors = sum(row["vectors"] for row in found["rows"])
    head = (
        f"Compared {found['date']} with mmasim {found['versions']['mmasim']}: {found['units_compared']} units, "
        f"{vectors:,} random and adversarial dot products, {found['disagreements']:,} disagreements."
    )
    body = [[f"`{row['unit']}`", f"{row['vectors']:,}", str(row["disagreements"])] for row in rows]
    return head + "\n\n" + (table(["unit", "dot products", "disagree"], body) if body else "")


def recordings() -> str:
    """Dot products that others recorded on chips, compared with the emulation: all, by chip."""
    told: dict[str, list[int]] = {}
    for each in result("numerics_peers")["silicon"]:
        sums = told.setdefault(each["file"].partition("_")[0].upper(), [0, 0])
        sums[0] += each["dot_products"]
        sums[1] += each["gemmlab_mismatches"]
    rows = [[chip, f"{total:,}", f"{wrong:,}"] for chip, (total, wrong) in told.items()]
    return table(["chip", "dot products", "mismatches"], rows)


def speed() -> str:
    """Multiply-adds a second of the emulation on one thread, beside mmasim's in the same run."""
    rows = []
    for name in ("numerics_speed", "numerics_speed_avx2"):
        found = result(name)
        for unit, paths in found["units"].items():
            for path, told in paths.items():
                small, large = told["256^3"], told["1024^3"]
                rows.append(
                    [
                        f"`{unit}`",
                        path,
                        f"{small['mac_per_s'] / 1e9:.1f}",
                        f"{told['times_peer']:,.0f}x",
                        f"{large['cpu_s']:.2f} s",
                        f"{max(told['ragged, 1 % special']['overhead'], 0):.0%}",
                        found["machine"].partition(",")[0],
                    ]
                )
    versions = result("numerics_speed")["versions"]
    head = (
        f"Measured {result('numerics_speed')['date']}: CPU time of one thread, packing included; the same bits as "
        f"mmasim {versions['mmasim']} in the same run. `vectors16` takes AVX-512, `vectors8` AVX2, `portable` any CPU."
    )
    heads = [
        "unit",
        "path",
        "10^9 products/s, 256^3",
        "beside mmasim",
        "1024^3",
        "more for ragged with specials",
        "CPU",
    ]
    return head + "\n\n" + table(heads, rows)


NUMERIC: dict[str, Callable[[], str]] = {
    "result numerics speed": speed,
    "result numerics faces": faces,
    "result numerics sets": sets,
    "result numerics wholes": wholes,
    "result numerics libraries": libraries,
    "result numerics peers": peers,
    "result numerics recordings": recordings,
}
