"""What holds for all tests of numerics."""

import pytest

from gemmlab.numerics.fast import running


@pytest.fixture(autouse=True)
def nothing_asked(monkeypatch):
    """Which multiplications the plain reference answers does not depend on the tests before."""
    monkeypatch.setattr(running.small, "asked", 0)
