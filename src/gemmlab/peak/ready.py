"""A plan made ready for given tensors: buffers, maps and launches, in their order."""

from __future__ import annotations

from typing import Any

from gemmlab.peak.asking import lying
from gemmlab.peak.driver import Launch
from gemmlab.peak.float32 import by_threads, split
from gemmlab.peak.multiply import multiplying, repacked, workspace_of
from gemmlab.peak.planned import Plan
from gemmlab.peak.stored import Stored, stored
from gemmlab.peak.vector import Vector, vector_launch


class Ready:
    """Launches of one multiplication; `buffers` is what they need beside the tensors, and keeps them alive."""

    def __init__(self, launches: list[Launch], buffers: list[Any], device: int) -> None:
        self.launches, self.buffers, self.device = launches, buffers, device

    def launch(self, stream: int) -> None:
        """Put everything on a stream."""
        for each in self.launches:
            each(stream)


def ready(torch: Any, a: Any, b: Any, d: Any, plan: Plan) -> Ready:
    """The launches of a plan for two matrices into a third."""
    device, sides = a.device.index, (a.shape[0], b.shape[1], a.shape[1])
    (read_a, left), (read_b, right), to = lying(a, 1), lying(b, 0), row_major(d)
    buffers: list[Any] = []
    launches: list[Launch] = []
    copies = [copy for copy, given in ((read_a, a), (read_b, b)) if copy is not given]
    with torch.cuda.device(device):
        if isinstance(plan.kernel, Vector):
            return Ready([vector_launch(plan.kernel, left, right, to.address, device)], copies, device)
        scales, apart = (0, 0), 0
        by_parts = left, right
        if plan.split:
            kept, (left, right), scales, apart, launch = split(left, right, sides[2], torch, device)
            buffers += kept
            launches.append(launch)
        elif plan.repack_a or plan.repack_b:
            off = [each for each, wanted in ((left, plan.repack_a), (right, plan.repack_b)) if wanted]
            kept, there, launch = repacked(off, torch, device)
            buffers += kept
            launches.append(launch)
            left = there.pop(0) if plan.repack_a else left
            right = there.pop(0) if plan.repack_b else right
        kept, workspace = workspace_of(plan.kernel, sides[0], sides[1], torch, device)
        buffers += kept
        launches.append(
            multiplying(
                plan.kernel,
                left,
                right,
                to,
                sides,
                device,
                group_m=plan.group_m,
                sms=torch.cuda.get_device_properties(device).multi_processor_count,
                scales=scales,
                map_k=apart,
                workspace=workspace,
            )
        )
        if plan.split:  # rows whose numbers lie too far apart for two float16, infinities and NaN
            launches.append(by_threads(buffers[0].data_ptr(), *by_parts, to, sides, device))
    return Ready(launches, buffers + copies, device)


def row_major(d: Any) -> Stored:
    """How the result lies: its rows along n."""
    found = stored(d, 1)
    if found is None or not found.along_k:
        return Stored(d.data_ptr(), d.shape[0], d.shape[1], d.stride(0), d.element_size(), along_k=True)
    return found
