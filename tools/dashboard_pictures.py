"""Photograph the live page: python -m tools.dashboard_pictures RUN PICTURE.

Writes PICTURE-laptop.png and PICTURE-phone.png of the page over the output of a run, or whatever
`evenkey dashboard --run` takes. Needs chromium.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from evenkey.reports.dashboard import Server
from tools.chromium import SIZES, chromium

__all__ = ["main"]

_DRAWN = "section:not([hidden]) .main-svg"


def main(run: Path, picture: Path) -> None:
    """Write a picture of the whole page for each size."""
    server = Server([run], port=0)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        with chromium() as browser:
            for name, (width, height) in SIZES.items():
                page = browser.new_page(viewport={"width": width, "height": height})
                page.goto(server.url)
                page.wait_for_selector(_DRAWN)
                page.wait_for_timeout(1000)
                page.screenshot(path=f"{picture}-{name}.png", full_page=True)
                page.close()
    finally:
        server.close()
        thread.join()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
