"""Take the pictures of the lab's sections in docs/images/lab again: `python docs/screenshots.py`, after `make web`.

Each section is opened from the one file, at an address that shows what it is for, 1280 and 390 pixels wide. It needs
playwright and a Chromium on the path. Pictures keep 256 colours and are small.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from small_png import read_png, small_png

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "src" / "gemmlab" / "lab" / "static" / "gemmlab-lab.html"
IMAGES = ROOT / "docs" / "images" / "lab"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SIZES = {1280: 960, 390: 1688}
LARGEST, TOGETHER = 150_000, 2_000_000  # bytes

#: what each section is opened at, and the bench again further down
ADDRESSES = {
    "film": "chapter=tile&step=2",
    "bench": "m=256&n=256&k=256&chip=h100-sxm",
    "schedules": "rung=tiled_8&out=0&order=serial",
    "limits": "m=8192&n=8192&k=8192&format=float16&kernel=tensor&chip=a100-pcie-80gb&at=roofs",
    "systolic": "pes=8&am=12&an=16&ak=16&cycle=14",
    "precision": "",
    "chips": "chip=h100-sxm&sort=knee",
}


def shown(page: Page, section: str) -> None:
    """Open a section and wait for what it shows; the bench times its kernels first."""
    name = "bench" if section == "limits" else section
    page.goto(f"{PAGE.as_uri()}#/{name}?lang=en&theme=light&{ADDRESSES[section]}")
    page.locator(f"lab-{name} h1").wait_for()
    if section == "bench":
        page.locator("[data-do=run]").click()
        page.locator("[data-do=run]:not([disabled])").wait_for(timeout=120_000)
        page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(600)


def main() -> int:
    """Write all pictures; status 1 where one is too large."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None or not PAGE.is_file():
        print("it needs the built page (make web) and Chromium", file=sys.stderr)
        return 2
    IMAGES.mkdir(parents=True, exist_ok=True)
    total = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-background-networking", "--enable-unsafe-webgpu"]
        )
        for width, height in SIZES.items():
            context = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce")
            for section in ADDRESSES:
                page = context.new_page()
                shown(page, section)
                data = small_png(read_png(page.screenshot()))
                (IMAGES / f"{section}-{width}.png").write_bytes(data)
                print(f"{section}-{width}.png {len(data):,} bytes")
                total += len(data) if len(data) <= LARGEST else TOGETHER
                page.close()
        browser.close()
    return int(total > TOGETHER)


if __name__ == "__main__":
    sys.exit(main())
