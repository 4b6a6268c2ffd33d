"""What a kernel moves, exactly: closed forms at every level of memory, and an enumerator that must agree."""

from gemmlab.count.counting import Counted, count, one

__all__ = ["Counted", "count", "one"]
