"""Where PyTorch was put for the tests, its absence is a failure and no reason to skip."""

import os

if os.environ.get("GEMMLAB_TORCH"):
    import torch  # noqa: F401
    import transformers  # noqa: F401
