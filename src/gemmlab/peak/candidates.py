"""Which plans are worth measuring: the model's best, no two nearly the same, and other sizes beside a good one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import asdict, replace

from gemmlab.peak.choosing import WIDTHS, plan_for, plans
from gemmlab.peak.engine import MOST_COLUMNS, Engine
from gemmlab.peak.planned import Plan
from gemmlab.peak.request import Request
from gemmlab.peak.store import free, held
from gemmlab.record import GemmlabError
from gemmlab.units import ceil_div

LEADING = 3  # of the model's plans that are measured however alike they are
APART = 0.25  # octaves between sizes, all together, and 1 for what is no size and differs
WIDE = 128  # columns beyond which each width of a large tile differs: it says how many waves of tiles there are
SLOWEST = 2.0  # plans predicted to take that many times as long as the first are not measured
GROUPED = (1, 2, 4, 8, 16, 32)  # rows of tiles walked together
#: a launch that takes less begins beside the one before, and how well both fit on the chip decides: of 512 x 512 x 512,
#: two programs of 48 columns on an SM took 3.24 us, one 3.65, two of 40 columns 3.94; no model here tells that
SHORT_S = 8e-6
NEAR = 3  # steps among the widths
#: at the power limit the energy of a product decides, which no model here tells: rows of tiles walked together, and
#: blocks of D on their way with steps between two warpgroups; of 8192^3 they were 3 % apart, after a pause 1 %
FRUGAL_GROUPED, FRUGAL_STORES = (8, 16), ((1, 0), (2, 2))


def various(request: Request, most: int) -> list[Plan]:
    """At most that many plans: the model's first ones, and then in turn the first of a kind, of a width, and of all.

    A kind is a kernel but for the width of its tile. The widths are those above `WIDE` of two warpgroups' tiles: a wide
    tile fetches fewer bytes for a product, which a chip at its power limit rewards and the model does not know. Of all,
    it is the first that is not nearly the same as one before. Raises GemmlabError as `plan_for` does.
    """
    first = plan_for(request)
    ordered = sorted(plans(request), key=lambda plan: plan.predicted_s)
    others = [plan for plan in ordered if plan.predicted_s <= SLOWEST * first.predicted_s and plan != first]
    found = [first, *others[: LEADING - 1]][:most]
    sizes = [decided(plan) for plan in found]
    fresh = [(plan, decided(plan)) for plan in others]
    for taken in sizes:
        fresh = unlike(fresh, taken)
    turns: Iterator[Callable[[Sizes], object]] = itertools.cycle((kind_of, width_of, type))  # the type of all is one
    while fresh and len(found) < most:
        what = next(turns)
        there = {what(each) for each in sizes}
        plan, taken = next((each for each in fresh if what(each[1]) not in there), fresh[0])
        found.append(plan)
        sizes.append(taken)
        fresh = unlike(fresh, taken)
    return found


Sizes = dict[str, Any]


def decided(plan: Plan) -> Sizes:
    """A kernel's kind and sizes, but for the free ones, which follow from the others."""
    tuned = free(plan.kernel)
    own = {name: value for name, value in asdict(plan.kernel).items() if name not in tuned}
    return {"": type(plan.kernel), **own}


def kind_of(sizes: Sizes) -> tuple[object, ...]:
    """All that a kernel is but the width of its tile."""
    return tuple(value for name, value in sizes.items() if name != "block_n")


def width_of(sizes: Sizes) -> int:
    """Columns of a tile of two warpgroups; all widths up to `WIDE` are one, those of two instructions another, and so
    are other tiles'.
    """
    width: int = sizes["block_n"] if sizes.get("consumers") == 2 else WIDE
    return min(max(WIDE, width), MOST_COLUMNS + 1)


def unlike(plans: list[tuple[Plan, Sizes]], taken: Sizes) -> list[tuple[Plan, Sizes]]:
    """The plans that are not nearly the same as one that is taken."""
    return [each for each in plans if distance(each[1], taken) >= APART]


def distance(first: Sizes, second: Sizes) -> float:
    """How much two kernels differ."""
    if first[""] is not second[""]:
        return math.inf
    wide = width_of(first) != width_of(second)
    return max(APART * wide, sum(apart(value, second[name]) for name, value in first.items() if value != second[name]))


def apart(one: object, other: object) -> float:
    """Octaves between two sizes; 1 between other things that differ."""
    if isinstance(one, int) and isinstance(other, int) and not isinstance(one, bool) and min(one, other) > 0:
        return abs(math.log2(one / other))
    return float(one != other)


def variants(request: Request, plan: Plan) -> Iterator[Plan]:
    """The same plan with each free size a step away, and with other rows of tiles walked together."""
    kernel: Any = plan.kernel
    if hasattr(kernel, "block_m"):
        rows, columns = (request.n, request.m) if kernel.swapped else (request.m, request.n)
        down = ceil_div(rows, kernel.block_m) if columns > kernel.block_n else 1  # one column has one order
        for group in sorted({min(group, down) for group in GROUPED} - {min(plan.group_m, down)}):
            yield replace(plan, group_m=group)
    for name, value in asdict(kernel).items():
        for other in steps(name, value) if name in free(kernel) else ():
            changed = resized(kernel, name, other)
            if changed is not None and changed != kernel:
                yield replace(plan, kernel=changed)


def beside(request: Request, plan: Plan) -> Iterator[Plan]:
    """Of a short plan those about as wide whose tiles all run at once, one or two on an SM, each with all of k."""
    kernel: Any = plan.kernel
    if not isinstance(kernel, Engine) or plan.predicted_s > SHORT_S:
        return
    at = WIDTHS.index(kernel.block_n)
    widths = WIDTHS[max(0, at - NEAR) : at + NEAR + 1]
    for other in plans(request):
        own = other.kernel
        if (
            isinstance(own, Engine)
            and own != kernel
            and (own.consumers, own.cluster, own.shares) == (1, 1, 1)
            and (own.swapped, own.rows_store) == (kernel.swapped, kernel.rows_store)
            and own.block_n in widths
            and own.resident <= 2
            and own.tiles(request.m, request.n, request.batch) <= request.sm_count
        ):
            yield other


def frugal(request: Request) -> Iterator[Plan]:
    """All plans of the widest tiles of two warpgroups, which fetch the fewest bytes for a product, in some orders."""
    for plan in plans(request):
        kernel: Any = plan.kernel
        if (
            not isinstance(kernel, Engine)
            or kernel.block_n < MOST_COLUMNS
            or kernel.consumers != 2
            or kernel.shares > 1
        ):
            continue
        stored = ((blocks, min(lag, max(0, kernel.stages - 2))) for blocks, lag in FRUGAL_STORES)
        for (blocks, lag), group in itertools.product(dict.fromkeys(stored), FRUGAL_GROUPED):
            own = replace(kernel, blocks=min(blocks, kernel.blocks), lag=lag)
            yield replace(plan, kernel=own, group_m=group)


def steps(name: str, value: int) -> tuple[int, ...]:
    """Sizes beside one: half and double, a stage less, on where it is off."""
    if isinstance(value, bool):
        return (not value,)
    if name == "lag":
        return (0, 1, 2)
    return (value - 1,) if name == "stages" else (value // 2, value * 2)


#: what changes with a size, as a kernel cannot hold both
WITH: dict[tuple[str, int], Sizes] = {
    ("direct", True): {"blocks": 1},
    ("direct", False): {"blocks": 1},
    ("hold", True): {"early": True, "lean": False},
    ("early", False): {"hold": False},
    ("lean", True): {"hold": False},
}


def resized(kernel: Any, name: str, value: int) -> Any:
    """The kernel with one size changed, with the most stages and lag that leave room for it; None where none do."""
    own = asdict(kernel)
    sizes = own | {name: value} | {other: to for other, to in WITH.get((name, value), {}).items() if other in own}
    for stages in range(sizes.get("stages", 2), 1, -1):
        fewer = {"stages": stages, "lag": min(sizes.get("lag", 0), max(0, stages - 2))}
        try:
            found = replace(kernel, **sizes | {each: fewer[each] for each in fewer.keys() & sizes.keys()})
        except GemmlabError:
            continue
        if held(found):
            return found
    return None
