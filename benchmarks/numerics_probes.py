"""Probes of a tensor core that need no model of it, the truncation table, and what reveal makes of it."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

import numerics_inputs
from gemmlab import formats, numerics
from gemmlab.numerics.operands import typed

MODES = ("outside", "chained")
ACTIONS = ("mask", "round")


def array(values: Any, name: str) -> Any:
    """Values of a format, as an array of its own type."""
    return typed(numerics_inputs.encoded(np.asarray(values, np.float64), name), name)


def diagonal(mma: Any, rows: Any, columns: Any, names: tuple[str, str]) -> Any:
    """One dot product a row and column, in float64."""
    d = mma(array(rows, names[0]), array(np.transpose(columns), names[1]))
    return np.diagonal(d).astype(np.float64)


def probes(mma: Any, a_format: str, b_format: str, dry: bool) -> dict[str, Any]:
    """P1: fraction bits kept of C. P2: fraction bits kept below the largest product. P5: products of one fused sum, and
    with every k the units that fall with a pair of huge opposite products at 0 and k. P12: sums of ones at three k."""
    names = (a_format, b_format)
    zeros = array(np.zeros((1, 32)), a_format), array(np.zeros((32, 23)), b_format)
    kept = mma(*zeros, (1 + 2.0 ** -np.arange(1, 24)).astype(np.float32)[None])[0]
    answer: dict[str, Any] = {"P1": int(np.flatnonzero(kept != 1).max(initial=-1)) + 1}
    a, b = np.zeros((2, 32, 32))
    for n in range(1, 33):
        # At 0, 1 and 4: one fused sum on every unit here, those that take k % 4 < 2 first among them.
        low = (14 - n) // 2
        a[n - 1, [0, 1, 4]] = 128, 2.0**low, 128
        b[n - 1, [0, 1, 4]] = 128, 2.0 ** (14 - n - low), -128
    answer["P2"] = int(np.flatnonzero(diagonal(mma, a, b, names)).max(initial=-1)) + 1
    k = 64
    a, b = np.full((2, k - 1, k), 2.0**-6)
    a[:, 0] = b[:, 0] = 256
    a[np.arange(k - 1), np.arange(1, k)] = 256
    b[np.arange(k - 1), np.arange(1, k)] = -256
    fallen = k - diagonal(mma, a, b, names) * 2.0**12
    answer["P5"] = float(fallen[0])
    answer["fallen"] = fallen.tolist()
    ones = {}
    for length in (256, 512, 1024) if dry else (16_384, 32_768, 65_536):
        ones[length] = float(mma(array(np.ones((1, length)), a_format), array(np.ones((length, 1)), b_format))[0, 0])
    answer["P12"] = ones
    answer |= {"instruction": mma.compiled.instruction, "opcodes": mma.compiled.opcodes, "fell": mma.compiled.fell}
    return answer


def truncation(unit: Any, a_format: str, b_format: str, dry: bool) -> dict[str, Any]:
    """Of outputs, those unchanged when the last N bits of every dot's output are cleared, N = 0..23.

    A table is believed only where the answers, cleared and not, are near float64's: `believed` says so, and `error` has
    the relative errors. `plateau` is the largest N up to which nothing changes, dots added outside and masked.
    """
    m, n, k = (16, 16, 256) if dry else (256, 256, 512)
    made = numerics_inputs.inputs("normal", a_format, b_format, "float32", m, n, k, 500)
    a, b = typed(made.a, a_format), typed(made.b, b_format)
    exact = formats.decode_array(made.a, a_format) @ formats.decode_array(made.b, b_format)
    answer: dict[str, Any] = {"shape": [m, n, k], "block_k": 128, "tables": []}
    for mode in MODES:
        for action in ACTIONS:
            base = unit.swept(a, b, 0, block_k=128, mode=mode, action=action)
            rows = []
            for bits in range(24):
                got = unit.swept(a, b, bits, block_k=128, mode=mode, action=action)
                error = float(np.linalg.norm(got - exact) / np.linalg.norm(exact))
                same = float((got.view(np.uint32) == base.view(np.uint32)).mean())
                rows.append({"bits": bits, "unchanged": same, "error": error})
            believed = all(row["error"] < 2.0 ** (row["bits"] - 23) * 4 * k / 128 + 0.01 for row in rows)
            answer["tables"].append({"mode": mode, "action": action, "believed": believed, "rows": rows})
    changed = [row["bits"] for row in answer["tables"][0]["rows"] if row["unchanged"] < 1]
    answer["plateau"] = min(changed, default=24) - 1
    compiled = unit.compiled
    answer |= {"instruction": compiled.instruction, "opcodes": compiled.opcodes, "fell": compiled.fell}
    return answer


def revealed(mma: Any, a_format: str, b_format: str) -> dict[str, Any]:
    """What gemmlab.numerics.reveal finds, as plain data."""
    found = numerics.reveal(mma, a_format, b_format, accumulate=mma.accumulate, confirm=20_000)
    told: dict[str, Any] = msgspec.to_builtins(found, enc_hook=str)
    return told | {"instruction": mma.compiled.instruction, "opcodes": mma.compiled.opcodes}
