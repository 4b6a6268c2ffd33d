"""What the tests of the page share: its sections, and addresses at which each of them is looked at."""

from .conftest import ROOT

WEB = ROOT / "web"
SECTIONS = sorted(path.parent.name for path in (WEB / "src" / "sections").glob("*/section.ts"))


def settle(page):
    """Wait until a change of the address has been drawn."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")


def wait_for(page, section):
    """Wait until that section is what the page shows."""
    page.locator(f"lab-{section} h1").wait_for()
    if section == "bench":  # whose lower half comes after the first sight
        page.locator("lab-limits [aria-labelledby=roofs]").wait_for()
