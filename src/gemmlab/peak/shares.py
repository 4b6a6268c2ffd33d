"""What programs that share k need in global memory: sums that meet there, and counters of who has brought theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gemmlab.peak.engine import Engine
    from gemmlab.peak.tf32x3 import Tf32x3

#: buffers that keep the memory, and the addresses of sums and of counters; 0 for none
Workspace = tuple[list[Any], tuple[int, int]]


def workspace(sums: int, counters: int, torch: Any, device: int) -> Workspace:
    """That many float32 and that many counters, which are zeros before a launch and behind it."""
    if not sums:
        return [], (0, 0)
    there = f"cuda:{device}"
    buffers = [torch.empty(sums, dtype=torch.float32, device=there)]
    if counters:
        buffers.append(torch.zeros(counters, dtype=torch.int32, device=there))
    return buffers, (buffers[0].data_ptr(), buffers[1].data_ptr() if counters else 0)


def workspace_of(kernel: Engine | Tf32x3, m: int, n: int, torch: Any, device: int, batch: int = 1) -> Workspace:
    """What clusters of a kernel of tiles need for all D (m, n); nothing where one cluster has all of k."""
    tiles = kernel.tiles(m, n, batch) if kernel.groups > 1 else 0
    sums = tiles * kernel.groups * kernel.block_m * kernel.block_n
    counters = 0 if getattr(kernel, "later", False) else tiles * kernel.parts
    return workspace(sums, counters, torch, device)
