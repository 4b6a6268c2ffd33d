"""Random small programs of the dialect, by seed: a kernel of several fragments, launched one fragment at a time.

To compile costs seconds, most of them for any kernel at all, and to run costs milliseconds. So one source serves
several programs: its fragments, each in several launches. `programs(sources, launches)` gives all of them, such as 500
by `programs(13, 10)`; the same seeds give the same programs.
"""

import atexit
import importlib.util
import random
import re
import shutil
import tempfile
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from emulator.program_expressions import WHOLE
from emulator.program_text import module_text
from emulator.steered import steered

FRAGMENTS = 4
NAMES = ("which", "n", "k", "u", "d", "ia", "ua", "fa", "ha", "ga", "b2", "c3", "oi", "of", "oh", "os", "ai", "af")
GRIDS = ((1,), (2,), (3,), (2, 2), (1, 2), (1, 1, 2))
BLOCKS = ((1,), (7,), (16,), (32,), (33,), (40,), (64,), (8, 4), (5, 3), (4, 8), (4, 3, 2), (2, 2, 5))
FULL = ((32,), (64,), (8, 4), (16, 2), (4, 4, 2), (4, 8))


@dataclass(frozen=True)
class RandomProgram:
    """One launch of one fragment of a random kernel."""

    seed: tuple[int, int, int]  #: source, fragment, launch
    text: str  #: of the whole module
    kernel: Any  #: numba.cuda dispatcher
    names: tuple[str, ...]  #: of its parameters
    grid: tuple[int, ...]
    block: tuple[int, ...]
    racy: bool  #: values depend on the schedule
    steered: bool  #: so do its addresses or branches, and with them counts and races
    make_args: Callable[[], tuple[Any, ...]]  #: fresh arguments, always the same values

    def __repr__(self):
        return f"program {self.seed}, grid {self.grid}, block {self.block}"


@cache
def folder():
    """Where sources of this process lie until it ends."""
    made = Path(tempfile.mkdtemp(prefix="gemmlab-programs-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@cache
def source(seed, fragments=FRAGMENTS):
    """A module's text, its kernel, the types of its arrays, which fragments are racy and which need full warps."""
    rng = random.Random(seed)
    text, used, racy, full = module_text(rng, seed, fragments, NAMES)
    types = {
        "ia": rng.choice(WHOLE[:4]),
        "ua": rng.choice(WHOLE[4:]),
        "fa": "float32",
        "ha": "float16",
        "ga": rng.choice(("float32", "float64")),
        "b2": rng.choice(("float32", "float64", "float16")),
        "c3": rng.choice(WHOLE),
        "oi": "int64",
        "of": rng.choice(("float32", "float64")),
        "oh": "float16",
        "os": rng.choice(WHOLE),
        "ai": rng.choice(("int32", "int64", "uint32", "uint64")),
        "af": rng.choice(("float32", "float64")),
    }
    file = folder() / f"random_program_{seed}_{fragments}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return text, module.kernel, used, types, racy, full


def random_program(seed, fragment=0, launch=0, fragments=FRAGMENTS):
    """The program of a source, a fragment of it, and a launch."""
    text, kernel, used, types, racy, full = source(seed, fragments)
    rng = random.Random(f"{seed} {fragment} {launch}")
    grid, block = rng.choice(GRIDS), rng.choice(FULL if full[fragment] else BLOCKS)
    threads = int(np.prod(grid) * np.prod(block))

    def make_args():
        given = arguments(types, fragment, threads, f"{seed} {fragment} {launch}")
        return tuple(value for name, value in zip(NAMES, given, strict=True) if name in used)

    loose = racy[fragment] and steered(bodies(text)[fragment])
    return RandomProgram(
        (seed, fragment, launch), text, kernel, tuple(used), grid, block, racy[fragment], loose, make_args
    )


def bodies(text):
    """The text of each fragment of a module."""
    parts = re.split(r"^    (?:el)?if which == \d+:\n", text, flags=re.MULTILINE)[1:]
    return [textwrap.dedent(part).replace("return\n", "pass\n") for part in parts]


def programs(sources, launches, first=0, fragments=FRAGMENTS):
    """All fragments of so many sources, each launched so many times."""
    for seed in range(first, first + sources):
        for fragment in range(fragments):
            for launch in range(launches):
                yield random_program(seed, fragment, launch, fragments)


def arguments(types, which, threads, seed):
    """The arguments of a launch: small numbers, outputs with an element for each thread and some to spare."""
    rng = random.Random(seed)
    values = np.random.default_rng(rng.randrange(2**32))
    n = rng.choice((5, 8, 13, 20))

    def filled(name, *shape):
        kind = np.dtype(types[name])
        if kind.kind == "f":
            return (values.integers(-16, 17, shape) / 4).astype(kind)
        low = 0 if kind.kind == "u" else -20
        return values.integers(low, 21, shape).astype(kind)

    def strided(array):
        """The same values, perhaps with gaps between them or from the middle of a larger array."""
        choice = rng.randrange(4)
        if choice == 0 and array.ndim == 1:
            wide = np.zeros(2 * len(array) + 1, array.dtype)
            wide[1::2] = array
            return wide[1::2]
        if choice == 1:
            wide = np.zeros((array.shape[0] + 2, *array.shape[1:]), array.dtype)
            wide[1:-1] = array
            return wide[1:-1]
        return np.asfortranarray(array) if choice == 2 else array

    inputs = [strided(filled(name, n)) for name in ("ia", "ua", "fa", "ha", "ga")]
    inputs += [strided(filled("b2", 5, 7)), strided(filled("c3", 3, 4, 5))]
    outputs = [np.zeros(threads + 2, types[name]) for name in ("oi", "of", "oh", "os")]
    scalars = which, n, np.int32(rng.randrange(1, 9)), np.float32(rng.randrange(-8, 9) / 4), rng.randrange(-8, 9) / 4
    return (*scalars, *inputs, *outputs, np.ones(64, types["ai"]), np.ones(16, types["af"]))
