"""What a predicted time includes. Any effect can be left out: so waterfall and advice know what a cause costs."""

from __future__ import annotations

from typing import NamedTuple


class Effects(NamedTuple):
    """What the time includes; all of it by default."""

    padding: bool = True  #: tiles that stick out of the result, k-steps out of k
    waves: bool = True  #: SMs that idle in the last round
    feeding: bool = True  #: tiles too small for L2 or shared memory to feed the arithmetic
    alignment: bool = True  #: element-wise loads where rows leave multiples of 16 bytes
    clock: bool = True  #: peak not held: power limit, issue
    fill: bool = True  #: pipelines filling and draining, once a program
    traffic: bool = True  #: DRAM bytes read again
    dram: bool = True  #: DRAM below its data sheet, SMs too few to draw all of it
    leftovers: bool = True  #: dirty lines that must leave L2 first
    overlap: bool = True  #: arithmetic and DRAM that do not hide each other wholly
    reduction: bool = True  #: split-k's second pass
    launch: bool = True  #: from the launch to the first load, and from the last store to the end


ALL = Effects()
NOTHING = Effects(*(False for _ in Effects._fields))
