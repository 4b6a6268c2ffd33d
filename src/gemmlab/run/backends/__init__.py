"""One folder a backend: its contenders as data, and the programs that they become in their own processes."""
