"""Photograph the live page: python -m tools.dashboard_pictures RUN PICTURE.

Writes PICTURE-laptop.png and PICTURE-phone.png of the page over the output of a run, or whatever
`evenkey dashboard --run` takes. Needs chromium.
"""

from __future__ import annotations

import shutil
import sys
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

from evenkey.dashboard import Server

__all__ = ["SIZES", "main"]

SIZES = {"laptop": (1280, 800), "phone": (390, 844)}
"""Width and height of what the page is looked at with, in CSS pixels."""
_DRAWN = "section:not([hidden]) .main-svg"


def main(run: Path, picture: Path) -> None:
    """Write a picture of the whole page for each size."""
    server = Server([run], port=0)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    program = shutil.which("chromium")
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            for name, (width, height) in SIZES.items():
                page = browser.new_page(viewport={"width": width, "height": height})
                page.goto(server.url)
                page.wait_for_selector(_DRAWN)
                page.wait_for_timeout(1000)
                page.screenshot(path=f"{picture}-{name}.png", full_page=True)
                page.close()
            browser.close()
    finally:
        server.close()
        thread.join()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
