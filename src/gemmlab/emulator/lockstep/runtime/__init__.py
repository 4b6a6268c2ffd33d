"""What generated kernels call, compiled once on a machine and reached by symbol: it is not compiled into each kernel."""
