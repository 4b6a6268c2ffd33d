"""What the compiler is given and gives back."""

import pytest
from tests.kernels import machine_code

from gemmlab.kernels import nvrtc

TEXT = 'extern "C" __global__ void nothing() {}\n'


@pytest.fixture(autouse=True)
def compiler():
    machine_code.need("cuda.bindings")


def test_an_empty_log_leaves_python_alone():
    """A log of one byte was once written into the one object that Python keeps for a space."""
    assert not nvrtc.compiled(TEXT).log
    assert b" "[0] == 32
    assert bytes(1) == b"\0"
    assert b"a b".split(bytes([32])) == [b"a", b"b"]


def test_kept_code_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = nvrtc.kept(TEXT)
    assert [path.suffix for path in (tmp_path / "gemmlab" / "kernels").iterdir()] == [".cubin"]
    monkeypatch.setattr(nvrtc, "compiled", lambda *_: pytest.fail("compiled twice"))
    assert nvrtc.kept(TEXT) == first


def test_what_it_refuses_is_told_in_its_words():
    with pytest.raises(RuntimeError, match=r"identifier .there. is undefined"):
        nvrtc.compiled(TEXT.replace("{}", "{ there = 1; }"))


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert nvrtc.kept(TEXT)[:4] == b"\x7fELF"
