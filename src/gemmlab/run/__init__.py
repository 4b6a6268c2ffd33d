"""Real kernels on the chip at hand: one protocol of timing, each kernel in a process of its own, each result checked."""
