"""Commands run in this process."""

from typing import NamedTuple

import pytest

from gemmlab.cli import main
from gemmlab.record import Record


class Ran(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def records(self):
        """What --json printed."""
        return [Record.from_json(line) for line in self.out.splitlines()]


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run `gemmlab WORDS` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def command(*words):
        status = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return command
