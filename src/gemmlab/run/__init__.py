"""Real kernels on the chip at hand: one protocol of timing, each in a process of its own, each result checked."""
