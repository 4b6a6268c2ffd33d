"""Something done in a process of its own, as a user who may not write everywhere."""

import multiprocessing
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


def unprivileged(function, *arguments):
    """What the function returns where folders' permissions hold, which they do not for root."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()

    def inside():
        if os.geteuid() == 0:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        theirs.send(function(*arguments))

    process = fork.Process(target=inside)
    process.start()
    theirs.close()
    try:
        return ours.recv()
    finally:
        process.join()


@contextmanager
def open_folder():
    """A folder that every user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)
