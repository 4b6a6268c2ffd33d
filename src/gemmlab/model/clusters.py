"""How many SMs clusters can use: a cluster lies within one GPC, and GPCs differ."""

from __future__ import annotations

from gemmlab.chips import Chip
from gemmlab.record import GemmlabError

LARGEST_CLUSTER = 16  # programs; past 8 a kernel opts in (CUDA C++ Programming Guide, thread block clusters)
#: SMs of each GPC, by architecture. H100 and H200 parts differ from card to card; this split of 132 gives what CUTLASS
#: issue 1921 saw: 112 SMs in clusters of 8, 120 in clusters of 4
GPCS: dict[str, tuple[int, ...]] = {"hopper": (18, 18, 18, 18, 18, 18, 12, 12)}


def usable_sms(chip: Chip, size: int) -> int:
    """SMs that clusters of `size` programs, one program an SM, can occupy at once."""
    sms = int(chip.sm_count)
    gpcs = GPCS.get(chip.architecture)
    if gpcs is None or sum(gpcs) != sms or size < 2:
        return sms
    return sum(gpc // size * size for gpc in gpcs)


def require_cluster(chip: Chip, size: int) -> None:
    """Raise GemmlabError where a chip that has clusters cannot launch one of `size` programs."""
    if "clusters" in chip.features and size > LARGEST_CLUSTER:
        raise GemmlabError(
            f"a cluster of {size} programs; {chip.name} takes at most {LARGEST_CLUSTER}",
            "--cluster 2x1, or leave it out",
        )
