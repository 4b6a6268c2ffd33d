"""What the page takes from the package is current."""

import pytest

from gemmlab.lab import data, golden

from .conftest import ROOT


@pytest.mark.parametrize(("folder", "files"), [("web/src/data", data.FILES), ("web/golden", golden.FILES)])
def test_files_say_what_the_package_says(folder, files):
    assert data.stale(ROOT / folder, files) == [], "make golden"
