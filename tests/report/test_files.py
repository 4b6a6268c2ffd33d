"""Files appear whole or not at all."""

import os
import stat

import pytest

from gemmlab.record import GemmlabError
from gemmlab.report import write_file


def test_a_file_is_written_and_replaced(tmp_path):
    path = tmp_path / "a.svg"
    write_file(path, "é\n")
    write_file(str(path), "second")
    assert path.read_bytes() == b"second"
    assert os.listdir(tmp_path) == ["a.svg"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(GemmlabError, match="does not exist"):
        write_file(tmp_path / "no" / "a.svg", "x")
    assert os.listdir(tmp_path) == []


def test_a_folder_in_place_of_the_file_is_an_error(tmp_path):
    with pytest.raises(GemmlabError, match="is a folder"):
        write_file(tmp_path, "x")


@pytest.mark.parametrize("failing", ["os.replace", "os.chmod"])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, failing):
    path = tmp_path / "a.svg"
    write_file(path, "old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(failing, fail)
    with pytest.raises(GemmlabError, match="No space left"):
        write_file(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.svg"]


def test_permissions_follow_the_umask_and_stay(tmp_path):
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "a", "x")
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
        (tmp_path / "a").chmod(0o600)
        write_file(tmp_path / "a", "y")
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_file(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_device_is_written_to():
    write_file("/dev/null", "x")
    assert not stat.S_ISREG(os.stat("/dev/null").st_mode)
