"""PyTorch on a GPU: the vendor's library as everybody calls it, and the memory and clock of Triton programs."""
