"""The built page: the same bytes each time, small at first load, and one file that needs no server."""

import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import missing
from .pages import SECTIONS, WEB, wait_for

FIRST_LOAD = 150_000  # bytes, compressed


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A folder that the page was built into just now."""
    if shutil.which("npm") is None or not (WEB / "node_modules").is_dir():
        missing("the page's tools are not installed: install Node 20.19 or newer, then `make web`")
    folder = tmp_path_factory.mktemp("built")
    for mode in ("production", "single", "widget"):
        made = subprocess.run(
            ["npx", "--no-install", "vite", "build", "--mode", mode, "--logLevel", "warn"],
            cwd=WEB,
            env=os.environ | {"GEMMLAB_STATIC": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert made.returncode == 0, made.stderr
    return folder


def files(folder: Path):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_lies_in_the_package_is_what_the_sources_build(built, static):
    assert files(built).keys() == files(static).keys(), "make web"
    assert files(built) == files(static), "make web"


@pytest.mark.web
def test_the_first_load_is_small(browser, serve, built):
    sizes = {}
    page = browser.new_page()
    page.on("response", lambda got: sizes.update({got.url: len(gzip.compress(got.body()))}))
    page.goto(serve(built) + "/")
    page.locator("h1").first.wait_for()
    page.wait_for_load_state("networkidle")
    page.close()
    assert len(sizes) >= 2
    assert sum(sizes.values()) < FIRST_LOAD, sizes


@pytest.mark.web
def test_one_file_opens_from_disk_and_draws_every_section(visit, built):
    page = visit("#/chips", at=(built / "gemmlab-lab.html").as_uri())
    for section in SECTIONS:
        page.evaluate("name => { location.hash = `#/${name}`; }", section)
        wait_for(page, section)


@pytest.mark.web
def test_the_page_in_parts_opened_from_disk_names_the_file_that_works(browser, built):
    page = browser.new_page()
    page.goto((built / "index.html").as_uri())
    assert page.get_by_role("link", name="gemmlab-lab.html").first.is_visible()
    page.close()


def test_the_lock_file_names_no_registry():
    text = (WEB / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in text
    assert '"integrity"' in text


def test_the_lock_file_holds_all_that_it_names():
    packages = json.loads((WEB / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    named = {name for each in packages.values() for name in each.get("optionalDependencies", {})}
    assert {name for name in named if not any(path.endswith(f"node_modules/{name}") for path in packages)} == set()
