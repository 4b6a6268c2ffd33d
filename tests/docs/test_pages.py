"""Pages say what is so: outputs are those of the program, links lead somewhere, examples run."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "examples/README.md",
]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


def test_every_output_table_and_picture_is_current():
    done = subprocess.run(
        [sys.executable, ROOT / "docs/update.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_what_stands_after_a_prompt_is_so(page):
    if ">>>" in page.read_text():
        assert doctest.testfile(str(page), module_relative=False).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), target


def test_every_field_of_a_record_is_told():
    rows = re.findall(r"^\| `\w+` \|.*\|$", (ROOT / "docs/reference/record.md").read_text(), re.MULTILINE)
    assert len(rows) > 80
    assert not [row for row in rows if row.rstrip("| ").endswith("|")]


def test_every_page_is_reached_from_the_documentation_page():
    listed = (ROOT / "docs/README.md").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        if page.name != "README.md":
            assert str(page.relative_to(ROOT / "docs")) in listed


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(example):
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
