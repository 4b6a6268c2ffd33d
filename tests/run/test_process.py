"""No contender's process outlives its parent, however that ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gemmlab.problem import Gemm

HERE = Path(__file__).parent
SCRIPT = """
import sys
from gemmlab.problem import Gemm
from gemmlab.run import measuring, process
from gemmlab.run.registry import contenders
from gemmlab.run.timing import Protocol

class Telling(process.Process):
    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        print(self.child.pid, flush=True)

process.Process = Telling
names = [f"{sys.argv[1]}:{name}" for name in sys.argv[2:]]
measuring.measure(Gemm(8, 8, 8), contenders(names, ["cpu"]), Protocol(limit_s=100.0))
"""


def alive(pid):
    """Whether a process is there and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def gone(pids, within_s=60.0):
    """Whether all of them end in time."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if not any(map(alive, pids)):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize("names", [("right", "never"), ("never",)])  # one that is stopped brings all a hang-up
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_parent(how, names):
    command = [sys.executable, "-c", SCRIPT, str(HERE / "faulty.py"), *names]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as parent:
        pids = [int(parent.stdout.readline()) for _ in names]
        time.sleep(1.0)  # the last is inside a loop without an end, the first of two stopped
        assert all(map(alive, pids))
        os.kill(parent.pid, how)
        parent.wait(60)
    assert gone(pids)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_where_memory_is_short_a_worker_ends_before_who_asks_it():
    from gemmlab.run.process import Process
    from gemmlab.run.registry import contenders

    process = Process(contenders([f"{HERE / 'faulty.py'}:right"], ["cpu"])[0], threads=1, limit_s=30.0)
    try:
        process.ask("load", f"{HERE / 'made_up.py'}:steady", Gemm(8, 8, 8))
        assert Path(f"/proc/{process.child.pid}/oom_score_adj").read_text().strip() == "1000"
    finally:
        process.end()
