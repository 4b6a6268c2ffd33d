"""A launch and its counts written by hand: a tiled kernel of four blocks, a race, conflicts, a divergent loop."""

from gemmlab.emulator.results import Emulation, Launched
from gemmlab.emulator.tallies import SAME_VALUE, SHARED_RACE, Fault, Key, Outcome, Place, Tally
from gemmlab.record import ArgumentSection, BlocksSection, ProofSection, ScheduleSection

FILE = "tiled.py"


def at(number, file=FILE):
    return Place(file, number)


TALLIES = {
    Key(at(9), "for", ""): Tally(threads=768, requests=24, splits=1),
    Key(at(10), "load", "a"): Tally(threads=512, requests=16, pieces=128),
    Key(at(10), "store", "sA"): Tally(threads=512, requests=16, pieces=16),
    Key(at(11), "barrier", ""): Tally(threads=512, requests=16),
    Key(at(14), "load", "sA"): Tally(threads=1024, requests=32, pieces=96, splits=64),
    Key(at(14), "load", "sB"): Tally(threads=1024, requests=32, pieces=32),
    Key(at(14), "assign", ""): Tally(threads=1024, flop=2048, fma=1024),
    Key(at(16), "store", "c"): Tally(threads=256, requests=8, pieces=32, flop=256),
    Key(at(17), "atomic", "c"): Tally(threads=256, requests=8, pieces=40),
    Key(at(18), "store", "mine"): Tally(threads=100, requests=8),
    Key(at(3, "helpers.py"), "load", "mine"): Tally(threads=50, requests=4),
}
RACE = Fault(
    SHARED_RACE, "sA", (0, 3), at(10), at(14), (((0, 0, 0), (3, 0, 0)), ((0, 0, 0), (0, 1, 0))), 2, "read-write", 512
)
SAME = Fault(SAME_VALUE, "c", (0,), at(16), at(16), (((0, 0, 0), (0, 0, 0)), ((1, 0, 0), (0, 0, 0))), 0, "write-write")


def launched(**fields):
    base = {
        "kernel": "tiled", "file": FILE, "grid": (2, 2, 1), "block": (8, 8, 1),
        "arguments": (
            ArgumentSection(name="a", type="float16", shape=(16, 16)),
            ArgumentSection(name="c", type="float32", shape=(16, 16)),
            ArgumentSection(name="n", type="int64"),
        ),
        "spaces": {"a": "global", "c": "global", "sA": "shared", "sB": "shared", "mine": "local", "idle": "global"},
        "types": {"a": "float16", "c": "float32", "sA": "float32", "sB": "float64", "mine": "int8", "idle": "bool"},
        "texts": {(FILE, 10): "sA[y, x] = a[row, t + x]", (FILE, 14): "s += sA[y, i] * sB[i, x]"},
        "shared_bytes": 768,
    }  # fmt: skip
    return Launched(**(base | fields))


def emulation(faults=(), schedules=(), proof=None, **fields):
    blocks = BlocksSection(total=4, run=4, how="every block was run")
    return Emulation(launched(**fields), Outcome(TALLIES, faults, 4, ("a note",)), blocks, schedules, proof)


def racy():
    tried = ScheduleSection(name="reverse", wrong_elements=63, max_error=1.5, against="lockstep", worst=True)
    return emulation((RACE, SAME), (tried,), ProofSection(holds="refuted", text="A race was found.", reasons=("race",)))
