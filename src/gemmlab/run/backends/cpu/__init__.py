"""The processor: NumPy's library, and the ladder up to it."""
