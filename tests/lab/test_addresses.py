"""The page in a browser: whatever the address holds there is a section, and what it sets is there again on reload."""

import pytest

from .pages import SECTIONS, settle, wait_for

HOSTILE = (
    "#", "#/", "#?", "#/nowhere", "#/chips?chip=", "#/chips?chip=%E0%A4%A", "#/chips?__proto__=1", "#/constructor",
    "#/<img src=x onerror=console.error(1)>", "#/chips?chip=<script>console.error(1)</script>",
    "#/chips?sort=year&sort=knee", "#/chips?mine=1e999________", "#/chips?lang=xx&theme=0&lvl=1",
    "#/chips?" + "a=1&" * 3000, "#javascript:console.error(1)",
)  # fmt: skip


@pytest.mark.web
def test_no_address_breaks_the_page(visit):
    page = visit()
    for address in HOSTILE:
        page.evaluate("hash => { location.hash = hash; }", address)
        settle(page)
        page.locator("h1").first.wait_for()
        assert page.locator("h1").count() == 1, address
    page.goto(page.url.split("#")[0] + "#/chips?sort=height&kind=tpu")
    said = page.get_by_role("status").inner_text()
    assert "sort=height" in said
    assert "knee" in said
    page.get_by_role("button", name="Close").click()
    assert page.get_by_role("status").inner_text() == ""


@pytest.mark.web
def test_chips_come_back_from_their_address(visit):
    page = visit("#/chips")
    page.get_by_label("Sort by").select_option("knee")
    page.get_by_role("button", name="tpu-v1").click()
    page.get_by_role("button", name="Start from tpu-v1").click()
    page.locator("[data-figure=dram]").fill("68")
    page.locator("[data-figure=dram]").press("Enter")
    page.wait_for_function("() => location.hash.includes('chip=own')")
    address = page.url
    page.reload()
    wait_for(page, "chips")
    assert page.url == address
    assert page.get_by_label("Sort by").input_value() == "knee"
    assert page.locator("[data-figure=dram]").input_value() == "68"
    assert page.get_by_role("heading", name="Your own chip").count() == 2


@pytest.mark.web
def test_the_back_button_leads_back_and_what_was_set_is_remembered(visit):
    page = visit("#/chips?kind=tpu")
    other = next((name for name in SECTIONS if name != "chips"), None)
    if other is None:
        pytest.skip("there is one section alone")
    page.evaluate("hash => { location.hash = hash; }", f"#/{other}")
    wait_for(page, other)
    page.get_by_role("link", name="Chips", exact=True).click()
    wait_for(page, "chips")
    assert "kind=tpu" in page.url
    page.go_back()
    wait_for(page, other)


#: as WebKit bounds it, here to five in ten seconds
FEW_ADDRESSES = """
const real = history.replaceState.bind(history);
let taken = [];
history.replaceState = (...given) => {
  taken = taken.filter((at) => performance.now() - at < 10000);
  if (taken.length >= 5) throw new DOMException('replaceState() more than 5 times', 'SecurityError');
  taken.push(performance.now());
  return real(...given);
};
"""


@pytest.mark.web
def test_where_the_browser_bounds_changes_of_the_address_the_page_goes_on(visit, browser):
    class Bounded:
        def new_context(self, **given):
            context = browser.new_context(**given)
            context.add_init_script(f"{{{FEW_ADDRESSES}}}")
            return context

    page = visit("#/schedules?at=0", of=Bounded())
    wait_for(page, "schedules")
    on = page.get_by_role("button", name="Step on")
    for _ in range(20):
        on.click()
    slider = page.locator("lab-schedules input[type=range]")
    assert slider.input_value() == "20"
    assert page.url.endswith("at=5")
    page.wait_for_function("() => location.hash.endsWith('at=20')", timeout=20_000)
