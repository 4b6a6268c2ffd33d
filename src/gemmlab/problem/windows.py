"""One axis of a convolution: a window that slides, and what it touches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from gemmlab.units import ceil_div


class Reach(NamedTuple):
    """What the windows of one axis touch, padding left out."""

    pairs: int  #: (output, tap) pairs that meet an element of the input
    inputs: int  #: elements of the input under some window
    outputs: int  #: outputs whose window holds some input
    taps: int  #: taps that meet input in some window


class Axis(NamedTuple):
    """Output p's tap r stands on input p*stride - padding + r*dilation."""

    size: int
    kernel: int
    stride: int
    padding: int
    dilation: int

    @property
    def outputs(self) -> int:
        """Windows that fit the padded input; not positive when none does."""
        return (self.size + 2 * self.padding - self.dilation * (self.kernel - 1) - 1) // self.stride + 1

    def reach(self) -> Reach:
        """What the windows touch, exactly, in time that grows with the taps alone.

        A tap meets input in one run of outputs. Runs are united for the outputs; the inputs of a run lie a stride
        apart, so that runs overlap only where they agree modulo the stride.
        """
        runs: list[tuple[int, int]] = []
        inputs: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for tap in range(self.kernel):
            shift = tap * self.dilation - self.padding
            first = max(0, ceil_div(-shift, self.stride))
            last = min(self.outputs - 1, (self.size - 1 - shift) // self.stride)
            if first <= last:
                runs.append((first, last))
                step, phase = divmod(shift, self.stride)
                inputs[phase].append((first + step, last + step))
        return Reach(
            pairs=sum(last - first + 1 for first, last in runs),
            inputs=sum(united(parts) for parts in inputs.values()),
            outputs=united(runs),
            taps=len(runs),
        )


def united(runs: Iterable[tuple[int, int]]) -> int:
    """How many whole numbers lie in at least one of the runs, ends included."""
    total, covered = 0, None
    for first, last in sorted(runs):
        start = first if covered is None else max(first, covered + 1)
        total += max(0, last - start + 1)
        covered = last if covered is None else max(covered, last)
    return total
