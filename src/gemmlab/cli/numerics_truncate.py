"""`gemmlab numerics truncate`: the published experiment, which clears low bits of every output."""

from __future__ import annotations

from collections.abc import Sequence

from gemmlab.cli.numerics_options import TRUNCATE
from gemmlab.cli.numerics_output import check_files, deliver
from gemmlab.cli.numerics_reveal import settings_of, target
from gemmlab.cli.parse import parse

HELP = "gemmlab numerics truncate --help"
SOURCE = ("--unit | --backend", "What is asked: a unit that is emulated, or one of this machine.")
BLOCK_K = 128
SHAPE = (64, 64, 512)


def help_text(about: str) -> str:
    """What `gemmlab numerics truncate --help` prints."""
    from gemmlab.cli.help import of_verb

    usage = "gemmlab numerics truncate --unit NAME | --backend NAME --format NAME [FLAGS]"
    return of_verb(usage, about, SOURCE, TRUNCATE, "gemmlab numerics truncate --unit hopper.wgmma.float8_e4m3fn")


def run(words: Sequence[str]) -> int:
    """Sweep; 1 where float64 contradicts the answers; raises GemmlabError."""
    plain, given = parse(words, TRUNCATE, HELP)
    target(plain, given, "truncate")
    check_files(given, ("plot", "html"))
    from gemmlab.experiment.truncating import truncated

    record = truncated(
        given.get("unit"),
        given.get("backend"),
        settings_of(given),
        mode=given.get("mode", "outside"),
        action=given.get("action", "mask"),
        block_k=given.get("block_k", BLOCK_K),
        shape=given.get("shape", SHAPE),
        seed=given.get("seed", 0),
    )
    deliver(record, given)
    return 1 if record.numerics and record.numerics.contradicted else 0
