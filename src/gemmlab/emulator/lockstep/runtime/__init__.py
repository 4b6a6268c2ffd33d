"""What generated kernels call, reached by symbol: compiled once on a machine instead of into each kernel."""
