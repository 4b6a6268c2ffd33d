"""What each verb of the server answers: a request in, JSON out. All of it runs in a worker's process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from gemmlab.lab import asked
from gemmlab.record import GemmlabError, Record, unknown_name

Told = Callable[[str], None]

GPU_BACKENDS_LAST = ("cpu", "webgpu")  #: which no backend of a GPU stands behind


class Verb(NamedTuple):
    """One verb: what it takes, what computes it, and how long and with how much memory that may go on."""

    request: type[asked.Asked]
    answer: Callable[[Any, Told], Any]
    limit_s: float
    memory_bytes: int  #: of each process; 0: as much as there is
    always_token: bool = False  #: needs the token whatever is asked


def explain(given: asked.Explain, told: Told) -> Record:
    """A Record without hardware."""
    from gemmlab import experiment

    problem, chip = given.problem.gemm(), asked.chip_of(given.chip)
    kernel = given.kernel.kernel(problem, chip) if given.kernel else None
    return experiment.explain(problem, chip, kernel, advice=given.advice)


def emulate(given: asked.Emulate, told: Told) -> Record:
    """A Record of one emulated launch."""
    from gemmlab import experiment
    from gemmlab.lab.playing import WORST, named_order
    from gemmlab.lab.sources import chosen

    if given.schedule not in (None, WORST, "exhaustive"):
        named_order(str(given.schedule))
    for text in given.arguments:
        if text.strip().endswith(".npy"):
            raise GemmlabError(f"argument `{text}` is a file", "float32[64,64]:iota or a number")
    if given.chip is not None:
        asked.chip_of(given.chip)
    if given.problem is not None and given.problem.groups:
        raise GemmlabError("a kernel that is emulated multiplies one pair of matrices, not groups", "m, n and k")
    told("compiling")
    with chosen(given) as (named, _):
        launch = experiment.Asked(
            kernel=named,
            block=given.block,
            grid=given.grid,
            given=tuple(experiment.Given.read(text) for text in given.arguments),
            outputs=given.outputs,
            seed=given.seed,
            chip=given.chip,
            values=given.values,
            # orders are searched where that is asked for: compiling a kernel for them takes longer than counting it
            options={"fill": given.fill, "prove": given.prove, "schedule": given.schedule, "search": False},
        )
        if given.problem is None:
            return experiment.emulate_kernel(launch)[0]
        return experiment.emulate_gemm(given.problem.gemm(), launch)[0]


def schedules(given: asked.Schedules, told: Told) -> Any:
    """A Play."""
    from gemmlab.lab.playing import play

    return play(given)


def run(given: asked.Run, told: Told) -> list[Record]:
    """Records of real kernels, timed in turn."""
    from gemmlab import experiment
    from gemmlab.run import registry
    from gemmlab.run.timing import Protocol

    problem = given.problem.gemm()
    backends = given.backends or default_backends()
    for name in given.kernels:
        known = {each.name for backend in registry.backends() for each in registry.contenders_of(backend)}
        if name.rpartition(":")[2] not in known or any(ending in name for ending in registry.OWN):  # no file is run
            raise unknown_name("kernel", name, known)
    chosen = registry.contenders(given.kernels, backends, (problem.a_format, problem.b_format))
    options = experiment.Options(
        threads=given.threads, device=given.device, protocol=Protocol(rounds=given.rounds, seed=given.seed)
    )
    return experiment.run_together(problem, chosen, options, told)


def default_backends() -> tuple[str, ...]:
    """Those of the GPU where there is one, else the processor's."""
    from gemmlab.chips.nvidia import gpus
    from gemmlab.run import registry

    on_gpu = tuple(name for name in registry.backends() if name not in GPU_BACKENDS_LAST)
    return on_gpu if on_gpu and gpus() else ("cpu",)


def caps(given: asked.Asked, told: Told) -> Any:
    """What this machine has."""
    from gemmlab.lab.machine import found

    return found()


GIB = 1 << 30
VERBS: dict[str, Verb] = {
    "explain": Verb(asked.Explain, explain, 20.0, 2 * GIB),
    "emulate": Verb(asked.Emulate, emulate, 60.0, 4 * GIB),
    "schedules": Verb(asked.Schedules, schedules, 60.0, 4 * GIB),
    "run": Verb(asked.Run, run, 600.0, 0, always_token=True),
}
CAPS = Verb(asked.Asked, caps, 60.0, 0)


def answer(verb: str, body: bytes, told: Told) -> bytes:
    """The answer to a request as JSON; raises GemmlabError for what cannot be answered."""
    wanted = CAPS if verb == "caps" else VERBS[verb]
    return msgspec.json.encode(wanted.answer(asked.read(wanted.request, body), told))


#: one's own kernel, as somebody may send it
OWN = {
    "source": "from numba import cuda\n\n@cuda.jit\ndef own(a, b, c):\n    c[0, 0] = a[0, 0] * b[0, 0]\n",
    **{"m": 1, "n": 1, "k": 1, "block": [1]},
}


def warm() -> None:
    """Load and compile what most answers need, so that the first one need not wait for it."""
    answer("explain", b'{"problem":{"m":64,"n":64,"k":64}}', lambda text: None)
    for kernel in ("naive", "tiled"):
        given = f'{{"kernel":"{kernel}","problem":{{"m":8,"n":8,"k":8}}}}'
        answer("emulate", given.encode(), lambda text: None)
    answer("schedules", b'{"kernel":"tiled_8","m":8,"n":8,"k":8}', lambda text: None)
    answer("schedules", msgspec.json.encode(OWN), lambda text: None)
