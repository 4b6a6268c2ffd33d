"""The flags of `systolic`, by what they are about; one about the array is named as the field of Array."""

from __future__ import annotations

from gemmlab.cli.options import JSON, WIDTH
from gemmlab.cli.parse import Flag, Section
from gemmlab.cli.quantities import size
from gemmlab.cli.systolic_quantities import array, bandwidth, capacity, clock
from gemmlab.problem.columns import number

ARRAY = Section(
    "The array",
    (
        Flag("array", "Rows and columns of PEs; default the chip's, else 128x128.", "ROWSxCOLS", array),
        Flag(
            "dataflow",
            "What stays in the PEs: ws weights (B, the default), is inputs (A), os outputs (sums).",
            "ws|is|os",
        ),
        Flag(
            "weights",
            "double (default): the next tile of what stays is shifted in behind the one in use, as TPUs do. single: "
            "the array waits for it.",
            "double|single",
        ),
        Flag(
            "drain",
            "How results leave an array that holds them (os): side (default), each row by a bus of its own; bottom, "
            "through the PEs below; shadow, the same behind the next tile.",
            "side|bottom|shadow",
        ),
        Flag(
            "edges",
            "exact (default): a tile at the edge takes the time of the PEs that it fills. full: that of a whole one, "
            "and is fetched as such; so are a TPU v1's.",
            "exact|full",
        ),
        Flag(
            "accumulators", "Partial sums that each column keeps; default the chip's, or as many as needed.", "N", size
        ),
        Flag(
            "sram",
            "On-chip memory of all arrays together, 24MiB or a number; default the chip's, or all fits.",
            "BYTES",
            capacity,
        ),
        Flag(
            "dram_bandwidth",
            "Of all arrays together, 34GB/s or 34e9; default the chip's, or DRAM never makes one wait.",
            "BYTES/S",
            bandwidth,
        ),
        Flag("tiles_ahead", "Tiles whose operands are fetched ahead; default the chip's, else 2.", "N", size),
        Flag("clock", "As 700MHz or 700e6; default the chip's. Without one the report is in cycles.", "HZ", clock),
        Flag("resident", "Operands that are in SRAM from the start: a, b, c, joined by commas.", "a,c"),
        Flag("units", "Arrays that share the work; default the chip's, else 1.", "N", size),
        Flag("chip", "A TPU whose figures hold where no flag says otherwise: tpu-v1 to tpu-v6e.", "NAME|FILE.toml"),
    ),
)

PROBLEM = Section(
    "The multiplication",
    (
        Flag(
            "format",
            "Number format of A, from which the others follow: int16, bfloat16, float8_e4m3fn, ...; default int8, or "
            "what the chip's array multiplies.",
            "NAME",
        ),
        Flag("a_format", "Format of A alone.", "NAME"),
        Flag("b_format", "Format of B; default A's.", "NAME"),
        Flag("d_format", "Format of the result; default int32 for integers.", "NAME"),
        Flag("batch", "Multiplications of these sides, one after another; default 1.", "N", number),
        Flag(
            "unit", "How a PE multiplies and adds: a unit of `gemmlab numerics units`; default by the format.", "NAME"
        ),
    ),
)

ASKED = Section(
    "What is asked",
    (
        Flag(
            "engine",
            "tiles (default): one tile after the other, stalls included. closed-form: a formula, memory never waits. "
            "grid: as tiles, and random values carried register by register, every element of D checked.",
            "NAME",
        ),
        Flag("seed", "Where the grid's random operands start; default 0.", "N", number),
        Flag("state", "Print what every register holds in that cycle, counted from 0, as JSON.", "CYCLE", number),
        Flag("energy", "Table of energies; default horowitz-45nm. One's own as a file.", "NAME|FILE.toml"),
        Flag("beside", "Put that chip's prediction for the same multiplication beside it.", "NAME|FILE.toml"),
        Flag("compat", "Put what SCALE-Sim 3.0.0 reports beside it: scalesim.", "NAME"),
        Flag("no_advice", "Leave out what to change."),
    ),
)

OUTPUT = Section(
    "The report; without any of these, text",
    (
        JSON,
        Flag("plot", "Draw the array in one cycle (--state), its use over time, and the split of cycles.", "FILE.svg"),
        Flag("html", "Write a page that needs nothing else.", "FILE"),
        WIDTH,
    ),
)

SYSTOLIC = (ARRAY, PROBLEM, ASKED, OUTPUT)

#: flags that are fields of Array as they stand, and what they are called there
FIELDS = {
    "dataflow": "dataflow",
    "weights": "weights",
    "drain": "drain",
    "edges": "edges",
    "accumulators": "accumulators",
    "sram": "sram_bytes",
    "dram_bandwidth": "dram_bytes_per_s",
    "tiles_ahead": "tiles_ahead",
    "clock": "clock_hz",
    "unit": "unit",
}
