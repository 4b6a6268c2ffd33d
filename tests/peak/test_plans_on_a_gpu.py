"""Any plan that answers a request gives its bits: operands are whole numbers, so that every order of sums is exact."""

import random

import pytest
from msgspec.structs import replace
from tests.peak.gpu import DEVICE, MOST, TYPES, Lying, laid, result_type, torch, whole_numbers

from gemmlab.peak.engine import Engine
from gemmlab.peak.tf32x3 import Tf32x3
from gemmlab.peak.vector import Vector

pytestmark = pytest.mark.gpu
SHAPES = ((64, 64, 8192), (130, 70, 9000), (256, 256, 4096), (257, 255, 4099), (16, 300, 8192), (300, 500, 777))
FEW = ((1, 300, 4099), (1, 257, 512), (300, 1, 777), (4, 255, 1000), (3, 64, 8192))
#: whose tiles fill a chip though they are large
LARGE = ((2000, 4200, 200), (4200, 2000, 333), (2560, 2560, 640), (3000, 3001, 72))
TRIES = 400
#: what is chosen among: kinds of plans that a random one would seldom be
KINDS = {
    "a vector": lambda kernel: isinstance(kernel, Vector),
    "three tfloat32": lambda kernel: isinstance(kernel, Tf32x3),
    "by pieces": lambda kernel: isinstance(kernel, Engine) and kernel.pieces == 2,
}
#: of the wgmma engine
ENGINES = {
    "any": lambda kernel: True,
    "one program a tile": lambda kernel: kernel.shares == 1 and kernel.together == 1,
    "from registers": lambda kernel: kernel.store == 0 and kernel.shares == 1,
    "from registers, swapped": lambda kernel: kernel.store == 0 and kernel.shares == 1 and kernel.swapped,
    "float32 row by row": lambda kernel: kernel.store == 4,
    "three warpgroups": lambda kernel: kernel.consumers == 3,
    "two instructions wide": lambda kernel: kernel.halves == 2,
    "two instructions wide, from registers": lambda kernel: kernel.halves == 2,
    "pairs that fetch B": lambda kernel: kernel.spread == 2 and not kernel.later,
    "parts of a cluster": lambda kernel: kernel.parts > 1,
    "groups": lambda kernel: kernel.groups > 1 and not kernel.later,
    "added later": lambda kernel: kernel.later and kernel.together == 1,
    "added later, lean": lambda kernel: kernel.later and kernel.consumers == 2 and kernel.registers_bound <= 80,
    "added later, held back": lambda kernel: kernel.later,
    "added later, pairs": lambda kernel: kernel.later and kernel.together == 2,
    "added later, fours": lambda kernel: kernel.later and kernel.together == 4,
}
#: what tuning alone chooses of them
TUNED = {
    "from registers": {"direct": True, "blocks": 1},
    "from registers, swapped": {"direct": True, "blocks": 1},
    "two instructions wide, from registers": {"direct": True, "blocks": 1},
    "added later, held back": {"hold": True},
    "added later, lean": {"lean": True},
}
OF_KIND = {
    "a vector": FEW,
    "three warpgroups": LARGE,
    "two instructions wide": LARGE,
    "two instructions wide, from registers": LARGE,
}
KINDS |= {
    name: lambda kernel, holds=holds: isinstance(kernel, Engine) and holds(kernel) for name, holds in ENGINES.items()
}


def operands(source, kind, shapes):
    """A and B that lie anyhow, D's rows some elements apart, memory that is nobody's between them."""
    m, n, k = source.choice(shapes)
    eight = kind in MOST
    left, right = (
        Lying(False if eight else source.random() < 0.3, source.choice([0, 0, 3, 16]), source.choice([0, 0, 1, 8]))
        for _ in range(2)
    )
    a, b = (
        laid(torch, whole_numbers(source, (m, k), kind), left, DEVICE),
        laid(torch, whole_numbers(source, (n, k), kind), right, DEVICE).t(),
    )
    gap, past = source.choice([0, 0, 1, 8]), source.choice([0, 0, 1, 8])
    memory = torch.full((past + m * (n + gap) + 64,), torch.nan, dtype=result_type(kind), device=DEVICE)
    return a, b, memory, memory[past:].as_strided((m, n), (n + gap, 1))


def plan_of(source, request, wanted):
    """One of the plans of a request, or None where none is of that kind."""
    from gemmlab.peak.choosing import plans

    found = [plan for plan in plans(request) if wanted(plan.kernel)]
    return source.choice(found) if found else None


def changed(plan, kind):
    """The plan with a size that the model leaves to tuning, where the kind is of it."""
    return replace(plan, kernel=replace(plan.kernel, **TUNED.get(kind, {})))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_is_exact_and_writes_d_alone(kind, seed):
    from gemmlab.peak.asking import request_of
    from gemmlab.peak.ready import ready

    source = random.Random(f"{kind} {seed}")
    for _ in range(TRIES):
        form = source.choice(TYPES)
        a, b, memory, d = operands(source, form, OF_KIND.get(kind, SHAPES))
        accuracy = source.choice(["vendor", "best"])  # float8 in one accumulator is not exact
        plan = plan_of(source, request_of(torch, a, b, d, accuracy, False), KINDS[kind])
        if plan is not None:
            break
    else:
        pytest.fail(f"none of {TRIES} requests has such a plan")
    plan = changed(plan, kind)
    made = ready(torch, a, b, d, plan)
    exact = (a.double() @ b.double()).to(d.dtype)
    for _ in range(2):
        memory.fill_(torch.nan)
        made.launch(torch.cuda.current_stream().cuda_stream)
        assert torch.equal(d, exact), plan
        d.fill_(torch.nan)
        assert memory.isnan().all(), "it wrote beside D"
