"""A plan made ready for given tensors: buffers, maps and launches, in their order."""

from __future__ import annotations

from typing import Any

from gemmlab.peak.asking import lying
from gemmlab.peak.driver import Launch, enter
from gemmlab.peak.float32 import otherwise, split
from gemmlab.peak.multiply import multiplying, repacked
from gemmlab.peak.planned import Plan
from gemmlab.peak.shares import workspace_of
from gemmlab.peak.stored import Stored, stored
from gemmlab.peak.tf32x3 import Tf32x3, tf32x3_launch
from gemmlab.peak.vector import Vector, vector_launch, vector_workspace


class Ready:
    """Launches of one multiplication; `buffers` is what they need beside the tensors, and keeps them alive."""

    def __init__(self, launches: list[Launch], buffers: list[Any], device: int) -> None:
        self.launches, self.buffers, self.device = launches, buffers, device

    def launch(self, stream: int) -> None:
        """Put everything on a stream."""
        for each in self.launches:
            each(stream)


def ready(torch: Any, a: Any, b: Any, d: Any, plan: Plan) -> Ready:
    """The launches of a plan for two matrices into a third, or for a batch of them where the plan is of one."""
    device, sides = a.device.index, (a.shape[-2], b.shape[-1], a.shape[-1])
    (read_a, left), (read_b, right), to = lying(a, 1), lying(b, 0), row_major(d)
    copies = [copy for copy, given in ((read_a, a), (read_b, b)) if copy is not given]
    with torch.cuda.device(device):
        enter(device)
        launches, buffers = launches_of(torch, plan, left, right, to, sides, device)
    return Ready(launches, buffers + copies, device)


def launches_of(
    torch: Any, plan: Plan, a: Stored, b: Stored, d: Stored, sides: tuple[int, int, int], device: int
) -> tuple[list[Launch], list[Any]]:
    """The launches of a plan in their order, and the buffers that they need, which `torch` is asked for.

    `sides` are a matrix's; operands are of a batch where the plan is.

    Nothing here depends on an address but by its last four bits and by holding it: `chain` moves what is made once.
    Raises ValueError for a plan of one multiplication where there are several.
    """
    if d.batch > 1 and not plan.batched:
        raise ValueError(f"a plan of one multiplication for {d.batch}")
    sms = torch.cuda.get_device_properties(device).multi_processor_count
    if isinstance(plan.kernel, Tf32x3):
        kept, workspace = workspace_of(plan.kernel, sides[0], sides[1], torch, device, d.batch)
        given = {"group_m": plan.group_m, "programs": sms, "workspace": workspace}
        return [tf32x3_launch(plan.kernel, a, b, d, sides, device, **given)], kept
    if isinstance(plan.kernel, Vector):
        kept, workspace = vector_workspace(plan.kernel, a, b, torch, device)
        return [vector_launch(plan.kernel, a, b, d, device, workspace)], kept
    buffers: list[Any] = []
    launches: list[Launch] = []
    left, right, scales, apart = a, b, (0, 0), 0
    if plan.split:
        pieces = split(a, b, sides[2], torch, device)
        left, right, scales, apart = pieces.a, pieces.b, pieces.scales, pieces.apart
        buffers.append(pieces.buffer)
        launches.append(pieces.launch)
    elif plan.repack_a or plan.repack_b:
        off = [each for each, wanted in ((a, plan.repack_a), (b, plan.repack_b)) if wanted]
        kept, there, launch = repacked(off, torch, device)
        buffers += kept
        launches.append(launch)
        left = there.pop(0) if plan.repack_a else a
        right = there.pop(0) if plan.repack_b else b
    kept, workspace = workspace_of(plan.kernel, sides[0], sides[1], torch, device, d.batch)
    buffers += kept
    launches += multiplying(
        plan.kernel,
        left,
        right,
        d,
        sides,
        device,
        group_m=plan.group_m,
        sms=sms,
        scales=scales,
        map_k=apart,
        workspace=workspace,
    )
    if plan.split:  # rows whose numbers lie too far apart for two float16, infinities and NaN
        launches.append(otherwise(pieces.refused, a, b, d, sides, device, sms))
    return launches, buffers


def row_major(d: Any) -> Stored:
    """How the result lies: its rows along n."""
    found = stored(d, 1)
    if found is None or not found.along_k:
        batch, step = (d.shape[0], d.stride(0)) if d.dim() == 3 and d.shape[0] > 1 else (1, 0)
        return Stored(d.data_ptr(), d.shape[-2], d.shape[-1], d.stride(-2), d.element_size(), True, batch, step)
    return found
