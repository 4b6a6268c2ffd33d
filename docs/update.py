"""Rewrite every output, table and picture of README.md and docs/ between its markers, so that none is typed.

`python docs/update.py` writes; `--check` writes nothing, names what is out of date, and leaves with status 1 if
anything is. A marker says how its text is made:

    <!-- begin: $ gemmlab explain 4096 50257 768 --format bfloat16 -->
    <!-- end -->

`$ COMMAND` is a command and its output, `$ COMMAND | head 20` the first 20 lines of it, `torch $ COMMAND` one that
needs PyTorch, whose output stays as it is where there is none, `file NAME` a file, `result NAME` a table in measured.py
of what a benchmark measured, and any other text the name of a table in tables.py.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib.util
import io
import re
import runpy
import shlex
import sys
from pathlib import Path

from arrays import ARRAYS
from beside_torch import BESIDE_TORCH
from emulated import EMULATED
from ladder import LADDER
from ladder_picture import ladder_picture
from measured import RESULTS
from numeric import NUMERIC
from tables import TABLES
from whole_networks import STEPS

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"(<!-- begin: (?P<how>.+?) -->\n)(?P<now>.*?)(?P<end><!-- end -->)", re.DOTALL)

#: pictures by file, and the command that draws each; `torch` before it says that it needs PyTorch
PICTURES = {
    "docs/images/vocabulary.svg": "gemmlab explain 4096 50257 768 --format bfloat16 --chip h100-sxm",
    "docs/images/ladder.svg": "gemmlab explain 8192 8192 8192 --format float16 --chip a100-pcie-80gb --tile 128x128x32",
    "docs/images/lesson.svg": "gemmlab report 1024 1024 1024 --no-run --json",
    "docs/images/fused-sum.svg": "gemmlab numerics gemm 4 5 200 --unit hopper.wgmma.float8_e4m3fn --trace 1,2",
    "docs/images/systolic.svg": "gemmlab systolic 9 10 12 --array 6x6 --state 17",
    "docs/images/networks.svg": "torch gemmlab explain examples/networks/gpt2.py:GPT2 --inputs 8x1024:int64 "
    "--autocast bfloat16",
}


def pages() -> list[Path]:
    """README.md and every page of docs/."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def run(words: list[str]) -> str:
    """What a command prints, 80 columns wide: `gemmlab ...`, or `python FILE.py`."""
    from gemmlab.cli import main

    def command() -> int:
        if words[0] == "gemmlab":
            return main(words[1:])
        runpy.run_path(words[1], run_name="__main__")
        return 0

    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    err = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.chdir(ROOT):
        status = command()
        out.flush()
    text = out.buffer.getvalue().decode()
    return text + err.getvalue() + (f"(exit status {status})\n" if status else "")


def console(command: str) -> str:
    """A command and its output as a block; `| head N` cuts it."""
    command, _, cut = command.partition(" | head ")
    lines = run(shlex.split(command)).rstrip("\n").split("\n")
    if cut and len(lines) > int(cut):
        lines = [*lines[: int(cut)], "..."]
    return "\n".join(["```console", f"$ {command}", *lines, "```"]) + "\n"


def made(how: str, now: str) -> str:
    """The text that a marker asks for; the one that is there now where it cannot be made here."""
    if how.startswith("torch $ "):
        return console(how.removeprefix("torch $ ")) if has_torch() else now
    if how.startswith("$ "):
        return console(how[2:])
    if how.startswith("file "):
        name = how.removeprefix("file ")
        return f"```{Path(name).suffix[1:]}\n{(ROOT / name).read_text(encoding='utf-8')}```\n"
    return (RESULTS | ARRAYS | BESIDE_TORCH | EMULATED | LADDER | NUMERIC | STEPS | TABLES)[how]()


def updated(page: Path) -> str:
    """A page with every marked block made anew."""
    return BLOCK.sub(
        lambda found: found[1] + made(found["how"], found["now"]) + found["end"], page.read_text(encoding="utf-8")
    )


def has_torch() -> bool:
    """Whether PyTorch is here, without loading it."""
    return importlib.util.find_spec("torch") is not None


def picture(command: str) -> str:
    """The SVG that a command's --plot writes."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "plot.svg"
        run([*shlex.split(command), "--plot", str(target)])
        return target.read_text(encoding="utf-8")


def everything() -> dict[Path, str]:
    """What each file ought to hold."""
    texts = {page: updated(page) for page in pages() if BLOCK.search(page.read_text(encoding="utf-8"))}
    drawn = {
        ROOT / name: picture(command.removeprefix("torch "))
        for name, command in PICTURES.items()
        if has_torch() or not command.startswith("torch ")
    }
    return texts | drawn | {ROOT / "docs/images/gpu-ladder.svg": ladder_picture()}


def main(check: bool) -> int:
    """Write, or compare."""
    stale = 0
    for path, text in everything().items():
        now = path.read_text(encoding="utf-8") if path.exists() else ""
        if now == text:
            continue
        stale += 1
        name = path.relative_to(ROOT)
        if check:
            diff = difflib.unified_diff(
                now.splitlines(), text.splitlines(), str(name), "as it ought to be", n=0, lineterm=""
            )
            print(f"{name} is out of date; `make docs` rewrites it", *list(diff)[2:8], sep="\n")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
