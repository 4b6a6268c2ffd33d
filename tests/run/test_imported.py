"""A file of one's own, imported whatever it is called, with what lies beside it."""

import sys

import pytest

from gemmlab.record import GemmlabError
from gemmlab.run.imported import attribute, module_of


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        del sys.modules[name]


def written(folder, **files):
    """The folder with these files in it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def test_a_file_called_as_a_library_hides_it_from_nobody(tmp_path):
    import numpy as np

    written(tmp_path, numpy="import numpy\nhas = numpy.matmul\n", json="import json\nhas = json.dumps\n")
    assert module_of(str(tmp_path / "numpy.py")).has is np.matmul
    assert module_of(str(tmp_path / "json.py")).has([]) == "[]"
    assert sys.modules["numpy"] is np


def test_a_file_finds_its_neighbours(tmp_path):
    written(tmp_path, mine="from a_neighbour import answer\n", a_neighbour="answer = 42\n")
    assert module_of(str(tmp_path / "mine.py")).answer == 42


def test_a_file_of_a_package_finds_its_own(tmp_path):
    inner = written(tmp_path / "an_outer" / "an_inner", __init__="", mine="from ..beside import answer\n")
    written(inner.parent, __init__="", beside="answer = 42\n")
    assert module_of(str(inner / "mine.py")).answer == 42


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(GemmlabError, match="no file"):
        module_of(str(tmp_path / "absent.py"))
    written(tmp_path, mine="value = 3\n")
    with pytest.raises(GemmlabError, match=r"`mine\.py` has no function `value`"):
        attribute(module_of(str(tmp_path / "mine.py")), "value", "mine.py")
