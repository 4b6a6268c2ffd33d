"""The program as a process: what it loads, how it ends, what a pipe sees."""

import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from gemmlab.cli import main

SHAPE = ("explain", "512", "384", "256", "--format", "float16")
HEAVY = ("torch", "numba", "matplotlib", "pandas", "scipy")


def gemmlab(*words, **more):
    """Run `python -m gemmlab WORDS`."""
    more.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([sys.executable, "-m", "gemmlab", *words], stderr=subprocess.PIPE, check=False, **more)


def loaded_by(code):
    """The modules that are loaded once the code has run."""
    script = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_import_loads_nothing_but_itself():
    loaded = loaded_by("import gemmlab")
    assert [name for name in loaded if name.startswith("gemmlab")] == ["gemmlab"]
    assert not loaded & {"numpy", "msgspec", *HEAVY}


@pytest.mark.parametrize("flags", [(), ("--json",), ("--html", "page.html", "--plot", "plot.svg")])
def test_explain_loads_nothing_heavy(flags, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loaded = loaded_by(f"from gemmlab.cli import main\nassert main({[*SHAPE, *flags]!r}) == 0")
    assert not loaded & {*HEAVY, "rich", "argparse"}
    assert "gemmlab.experiment" in loaded


@pytest.mark.parametrize(
    "words",
    [
        ("numerics", "units"),
        ("numerics", "--help"),
        ("numerics", "units", "hopper.wgmma", "--json"),
        *[("numerics", part, "--help") for part in ("gemm", "truncate", "reveal", "verify", "sass")],
    ],
)
def test_numerics_loads_nothing_heavy_before_it_computes(words):
    loaded = loaded_by(f"from gemmlab.cli import main\nassert main({list(words)!r}) == 0")
    assert not loaded & {*HEAVY, "triton", "gemmlab.numerics.fast", "gemmlab.emulator"}


def test_status_and_streams():
    fine, bad = gemmlab(*SHAPE, "--json", "--no-advice"), gemmlab("explain", "0", "1", "1")
    assert (fine.returncode, fine.stderr) == (0, b"")
    assert json.loads(fine.stdout)["problem"]["m"] == 512
    assert (bad.returncode, bad.stdout) == (2, b"")
    assert bad.stderr.startswith(b"error: m=0")


def test_version_and_help():
    assert gemmlab("--version").returncode == 0
    told = gemmlab("--help").stdout.decode()
    assert "explain" in told
    assert "emulate" in told
    assert "chips" in told
    assert "numerics" in told
    assert "run" in told.split()
    for verb in ("systolic", "report", "lab"):
        assert gemmlab(verb, "--help").returncode == 0
    assert "--split-k" in gemmlab("explain", "--help").stdout.decode()


def test_a_closed_pipe_is_quiet():
    reader, writer = os.pipe()
    os.close(reader)
    done = gemmlab("chips", stdout=writer)
    os.close(writer)
    assert done.stderr == b""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no descriptors to close")
@pytest.mark.parametrize("words", [SHAPE, (*SHAPE, "--json"), ("chips",), ("--help",), ("explain", "--help")])
def test_a_closed_standard_output_is_said(words):
    done = gemmlab(*words, preexec_fn=lambda: os.close(1))
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: cannot write the output")
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows has no descriptors to close")
@pytest.mark.parametrize("words", [("explain", "0", "1", "1"), ("explain", "--suite", "waves", "--no-advice")])
def test_a_closed_standard_error_leaves_standard_output_alone(words):
    open_, closed = gemmlab(*words), gemmlab(*words, preexec_fn=lambda: os.close(2))
    assert (closed.returncode, closed.stdout) == (open_.returncode, open_.stdout)


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="this system has no /dev/stdout")
def test_a_pipe_by_its_path_takes_a_file(tmp_path):
    done = gemmlab(*SHAPE, "--json", "--csv", "/dev/stdout", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"problem.m," in done.stdout.splitlines()[0]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_a_source(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    # opening the pipe waits for its reader, for ever where that dies at once: a thread of its own waits
    threading.Thread(target=(tmp_path / "pipe").write_text, args=("m,n,k\n8,9,10\n",), daemon=True).start()
    done = gemmlab("explain", "pipe", "--json", "--no-advice", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["problem"]["k"] == 10


@pytest.mark.parametrize("flags", [("--json",), ("--csv", "-")])
def test_lines_of_many_shapes_come_as_they_are_known(flags, tmp_path):
    (tmp_path / "many.csv").write_text("m,n,k\n" + "".join(f"{512 + i},512,512\n" for i in range(2000)))
    words = [sys.executable, "-m", "gemmlab", "explain", "many.csv", *flags]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as running:
        first = [running.stdout.readline() for _ in range(2)]
        ended = running.poll()
        running.stdout.close()
        assert running.wait() == 0  # whoever read has seen enough
        assert running.stderr.read() == b""
    assert all(first)
    assert ended is None


def test_a_narrow_ascii_terminal():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "40"}
    done = gemmlab(*SHAPE, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for another process")
def test_an_interrupt_is_status_130():
    words = [sys.executable, "-m", "gemmlab", "explain", "--suite", "stream-k", "--count", "2000", "--json"]
    # tests that run in the background of a shell ignore interrupts, and so would their children
    heed = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **heed) as running:
        first = running.stdout.readline()
        running.send_signal(signal.SIGINT)
        _, err = running.communicate()
    assert first
    assert running.returncode == 130
    assert b"Traceback" not in err


def test_a_lack_of_memory_is_said(monkeypatch, capsys):
    def greedy(words):
        raise MemoryError("Unable to allocate 32.0 GiB")

    monkeypatch.setattr("gemmlab.cli.chips.run", greedy)
    assert main(["chips"]) == 2
    assert (
        capsys.readouterr().err
        == "error: memory is too small: Unable to allocate 32.0 GiB\n\nhint: a smaller problem\n"
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device")
@pytest.mark.parametrize("words", [("explain", "512", "384", "256", "--csv", "out.csv"), ("explain", "0", "1", "1")])
def test_nobody_need_hear_what_is_said_on_standard_error(words, tmp_path):
    command = [sys.executable, "-m", "gemmlab", *words]
    heard = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert heard.stderr
    with open("/dev/full", "wb") as full:
        unheard = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=full, check=False)
    reader, writer = os.pipe()
    os.close(reader)
    broken = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=writer, check=False)
    os.close(writer)
    assert heard.returncode == unheard.returncode == broken.returncode
    assert heard.stdout == unheard.stdout == broken.stdout


def test_a_file_called_as_a_library_where_it_is_called_breaks_nothing(tmp_path):
    """What `gemmlab` starts does not look there, as `gemmlab` itself, a script, does not."""
    for name in ("numpy.py", "json.py", "struct.py"):
        (tmp_path / name).write_text("def matmul(a, b, d): d[...] = a @ b\n")
    script = "import sys; from gemmlab.cli import main; sys.exit(main())"
    words = ("run", "8", "8", "8", "--backend", "cpu", "--kernel", "numpy,numpy.py:matmul", "--rounds", "3", "--json")
    done = subprocess.run([sys.executable, "-P", "-c", script, *words], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done
    found = [json.loads(line)["measurement"] for line in done.stdout.splitlines()]
    assert [each["kernel"] for each in found] == ["numpy", "matmul"]
    assert not any(each["fault"] for each in found)
