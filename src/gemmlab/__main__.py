"""`python -m gemmlab` is the same as `gemmlab`."""

import sys

from gemmlab.cli import main

if __name__ == "__main__":
    sys.exit(main())
