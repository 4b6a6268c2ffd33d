"""`gemmlab numerics verify`: a unit held against dot products that a chip computed."""

from __future__ import annotations

from collections.abc import Sequence

from gemmlab.cli.numerics_options import VERIFY
from gemmlab.cli.numerics_output import check_files, deliver
from gemmlab.cli.parse import parse
from gemmlab.record import GemmlabError, unknown_name

HELP = "gemmlab numerics verify --help"
SOURCE = (
    "FILE.npz",
    "Recorded dot products d = sum a[k] b[k] + c: a and b (count, k), c and d_float32 or d_float16 (count,), each a "
    "uint32 with the float32 bits of its value.",
)
OUTPUTS = ("float32", "float16")


def help_text(about: str) -> str:
    """What `gemmlab numerics verify --help` prints."""
    from gemmlab.cli.help import of_verb

    usage = "gemmlab numerics verify FILE.npz --unit NAME [FLAGS]"
    return of_verb(usage, about, SOURCE, VERIFY, "gemmlab numerics verify h100_float16.npz --unit hopper.mma.float16")


def run(words: Sequence[str]) -> int:
    """Compare; 1 where any output differs; raises GemmlabError."""
    source, given = parse(words, VERIFY, HELP)
    if len(source) != 1:
        raise GemmlabError(f"{len(source)} files are named", "gemmlab numerics verify FILE.npz --unit NAME")
    if "unit" not in given:
        raise GemmlabError("there is no --unit", "--unit hopper.mma.float16; `gemmlab numerics units` lists all")
    if "output" in given and given["output"] not in OUTPUTS:
        raise unknown_name("output", given["output"], OUTPUTS)
    check_files(given, ("plot", "html"))
    from gemmlab.experiment.verifying import verified

    record = verified(
        source[0],
        given["unit"],
        output=given.get("output"),
        without_c=True if "without_c" in given else None,
        a_format=given.get("a_format"),
        b_format=given.get("b_format"),
    )
    if "plot" in given and record.numerics and record.numerics.first_mismatch is None:
        raise GemmlabError("--plot draws the first output that differs, and none does", "leave out --plot")
    deliver(record, given)
    return 1 if record.numerics and record.numerics.mismatches else 0
