"""Photograph a page that a command wrote: python -m tools.page_picture PAGE PICTURE [HEIGHT].

As a laptop shows it, from the top, as high as the window or as given in CSS pixels. Needs chromium.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tools.dashboard_pictures import SIZES

__all__ = ["main"]


def main(page: Path, picture: Path, height: int | None = None) -> None:
    """Write the picture of the page."""
    width, usual = SIZES["laptop"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        window = browser.new_page(viewport={"width": width, "height": height or usual})
        window.goto(page.resolve().as_uri())
        window.wait_for_timeout(1000)
        window.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
