"""What holds of every section: it comes back from its address, answers in a moment, and an export needs no server."""

import json
import os
import random
import re
import subprocess
import sys

import pytest

from gemmlab.lab.export import export

from .conftest import ROOT
from .pages import SECTIONS, WEB, settle, wait_for

BUSY = 12  # tries, on a machine that does other things too
MOMENT_MS = 100

#: of each section a state that is not its first, every parameter of it shown somewhere
STATES = {
    "bench": "m=1000&n=900&k=800&format=float16&t=8&chip=l4&tiled=0&all=1&cut=first&where=none&seed=5"
    "&kernel=tensor&bm=64&bn=64&bk=32&raster=m&group=4&wave=1",
    "chips": "chip=tpu-v1&sort=knee&kind=tpu",
    "film": "chapter=reads&step=2&answers=___256______&keys=0",
    "precision": "unit=hopper.wgmma.bfloat16&length=12&sizes=cancel&seed=7",
    "schedules": "rung=tiled&pm=18&pn=17&pk=19&out=1&order=reverse&fill=nan&bx=1&by=1&at=3",
    "systolic": "pes=16&flow=os&am=20&an=30&ak=40&cycle=25",
}
#: two values of a parameter of each section, between which its pictures change
CHANGES = {
    "bench": ("m=8192&n=8192&k=8192&wave=2", "m=8192&n=8192&k=8000&wave=1"),
    "chips": ("sort=year", "sort=knee"),
    "film": ("chapter=cache&step=1", "chapter=cache&step=2"),
    "precision": ("seed=3", "seed=4"),
    "schedules": ("at=20", "at=21"),
    "systolic": ("pes=256&am=512&an=512&ak=512&cycle=300", "pes=256&am=512&an=512&ak=512&cycle=301"),
}
#: how the page says that a section could not be loaded, in either language
FAILED = re.compile(
    "|".join(
        json.loads((WEB / "src" / "words" / f"{language}.json").read_text(encoding="utf-8"))["page.failed"].split("{")[
            0
        ]
        for language in ("en", "it")
    )
)
#: what a reader sees and has set
SEEN = """() => {
  const found = [];
  const walk = (node) => {
    for (const each of node.querySelectorAll('*')) {
      if (each.matches('input, select, textarea')) found.push(each.type === 'checkbox' ? each.checked : each.value);
      if (each.hasAttribute('aria-pressed')) found.push(each.getAttribute('aria-pressed'));
      if (each.shadowRoot) walk(each.shadowRoot);
    }
  };
  walk(document);
  return found;
}"""
#: of some addresses in turn those at which a section could not be loaded, or two are shown; one may be on its way still
BROKEN = """async ([addresses, failed]) => {
  const below = (node) => [...node.querySelectorAll('*')].map((each) => each.shadowRoot).filter(Boolean);
  const roots = (node) => [node, ...below(node).flatMap(roots)];
  const found = [];
  for (const address of addresses) {
    location.hash = address;
    await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
    const all = roots(document.body);
    const heads = all.reduce((sum, root) => sum + root.querySelectorAll('h1').length, 0);
    if (heads > 1 || all.some((root) => new RegExp(failed).test(root.textContent))) found.push(address);
  }
  return found;
}"""
TOOK = """async (addresses) => {
  const took = [];
  for (let round = 0; round < 5; round++) {
    for (const address of addresses) {
      const start = performance.now();
      const heard = new Promise(done => addEventListener('hashchange', done, { once: true }));
      location.hash = address;
      await heard;
      await new Promise(requestAnimationFrame);
      await new Promise(done => setTimeout(done, 0));
      took.push(performance.now() - start);
    }
  }
  return took;
}"""


def test_every_section_is_here():
    assert set(STATES) == set(CHANGES) == set(SECTIONS)


@pytest.mark.web
@pytest.mark.parametrize("section", SECTIONS)
def test_it_comes_back_from_its_address(visit, section):
    plain = visit(f"#/{section}")
    wait_for(plain, section)
    page = visit(f"#/{section}?lang=it&lvl=elem&theme=dark&{STATES[section]}")
    wait_for(page, section)
    settle(page)
    assert page.get_by_role("status").first.inner_text() == ""  # every value of the address is one
    assert page.evaluate(SEEN) != plain.evaluate(SEEN)
    seen, said, address = page.evaluate(SEEN), page.locator("main").inner_text(), page.url
    page.goto("about:blank")
    page.goto(address)
    wait_for(page, section)
    settle(page)
    assert (page.evaluate(SEEN), page.locator("main").inner_text()) == (seen, said)


@pytest.mark.web
@pytest.mark.parametrize("section", SECTIONS)
def test_a_change_is_answered_in_a_moment(visit, section):
    page = visit(f"#/{section}?{CHANGES[section][0]}")
    wait_for(page, section)
    for _ in range(BUSY):  # what takes longer says what else the machine did
        took = page.evaluate(TOOK, [f"#/{section}?{change}" for change in reversed(CHANGES[section])])
        if max(min(took[::2]), min(took[1::2])) < MOMENT_MS:
            break
    else:
        pytest.fail(f"not once in {BUSY} tries: {took}")


@pytest.mark.web
def test_500_random_addresses_leave_the_page_going(visit):
    draw = random.Random(7)
    known = sorted({pair.split("=")[0] for state in STATES.values() for pair in state.split("&")} | {"mine", "xa", "x"})
    values = ["", "0", "1", "-1", "16", "256", "131072", "1e400", "NaN", "own", "it", "elem", "dark", "%zz", "_", "💥"]
    values += [pair.partition("=")[2] for state in STATES.values() for pair in state.split("&")]
    page = visit("#/chips")
    addresses = []
    for _ in range(500):
        query = "&".join(f"{draw.choice(known)}={draw.choice(values)}" for _ in range(draw.randrange(12)))
        addresses.append(f"#/{draw.choice([*SECTIONS, 'nowhere', ''])}?{query}")
    assert page.evaluate(BROKEN, [addresses, FAILED.pattern]) == []
    page.evaluate("location.hash = '#/chips?chip=tpu-v1'")
    wait_for(page, "chips")
    assert page.locator("h1").count() == 1
    assert page.evaluate(BROKEN, [["#/chips?chip=tpu-v1&sort=knee"], "TPU"])  # what the page says is seen


@pytest.mark.web
@pytest.mark.parametrize("how", ["file server", "disk"])
def test_an_export_draws_every_section_with_nothing_behind_it(visit, serve, static, tmp_path, how):
    export(str(tmp_path / "site"), static)
    at = f"{serve(tmp_path / 'site')}/" if how == "file server" else (tmp_path / "site" / "gemmlab-lab.html").as_uri()
    page = visit("#/chips", at=at)
    for language in ("en", "it"):
        for section in SECTIONS:
            page.evaluate("hash => { location.hash = hash; }", f"#/{section}?lang={language}")
            wait_for(page, section)
            settle(page)
            assert page.locator("lab-page [role=alert]").count() == 0, section
    page.evaluate("location.hash = '#/bench?m=17&n=15&k=33&lang=en'")
    wait_for(page, "bench")
    page.locator("[data-do=run]").click()
    page.locator("[data-do=run]:not([disabled])").wait_for(timeout=120_000)
    assert page.locator('tr[data-kernel="tiled"] [data-figure=verdict]').inner_text().startswith("right")


@pytest.mark.web
@pytest.mark.parametrize(
    ("one", "remedy"),
    [
        ("tests/lab/test_limits.py::test_the_published_case", "apt install chromium"),
        ("tests/lab/test_built.py::test_what_lies_in_the_package_is_what_the_sources_build", "install Node 20.19"),
    ],
    ids=["Chromium", "Node"],
)
def test_without_it_tests_skip_and_name_it_and_in_ci_they_fail(playwright, static, one, remedy):
    words = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", one]
    for promised, status in (("", 0), ("1", 1)):
        env = os.environ | {"PATH": "/nonexistent", "GEMMLAB_PAGE": promised}
        done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout
        assert remedy in done.stdout
        assert re.search(r"1 skipped|s .*100%" if not promised else r"1 error", done.stdout), done.stdout


def test_every_section_has_its_pictures_and_they_are_small():
    pictures = [*SECTIONS, "limits"]  # which stand on the bench
    sizes = {path.name: path.stat().st_size for path in (ROOT / "docs" / "images" / "lab").glob("*.png")}
    assert set(sizes) == {f"{section}-{width}.png" for section in pictures for width in (1280, 390)}
    assert max(sizes.values()) < 150_000
    assert sum(sizes.values()) < 2_000_000


def test_the_workflow_publishes_the_export_without_a_secret():
    text = (ROOT / ".github" / "workflows" / "page.yml").read_text(encoding="utf-8")
    steps = ["tools/build-web", "pip install .", "gemmlab lab --export site", "upload-pages-artifact", "deploy-pages"]
    places = [text.index(step) for step in steps]
    assert places == sorted(places)
    assert "secrets" not in text
