"""Real units behind one callable `mma(a, b, c)`: this CPU's, a GPU's, a library's."""
