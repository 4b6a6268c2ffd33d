"""An adapter for tests that need one; where there is none they are skipped, with what is to be installed.

Triton is loaded before software Vulkan: each brings an LLVM, and a process that loads Triton's second breaks. Nothing
but these tests has both in one process.
"""

from contextlib import suppress
from functools import cache

import pytest

from gemmlab.record import GemmlabError


@cache
def missing() -> str:
    """Why there is no adapter; empty where there is one."""
    from gemmlab.run.backends.webgpu.adapters import adapter

    with suppress(ImportError):
        import triton  # noqa: F401
    try:
        adapter(0)
    except GemmlabError as error:
        return str(error).replace("\n\nhint: ", ": ")
    return ""


@pytest.fixture
def needs_adapter():
    """Skips without one."""
    if missing():
        pytest.skip(missing())
