"""The command line: it parses, calls the part that knows, and prints its report."""

from gemmlab.cli.main import main

__all__ = ["main"]
