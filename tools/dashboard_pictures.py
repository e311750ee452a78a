"""Take screenshots of the dashboard: python -m tools.dashboard_pictures RUN PICTURE.

Writes PICTURE-laptop.png and PICTURE-phone.png, which show the page of RUN: the output directory of
a run, or any other value that `evenkey dashboard --run` accepts. Needs Chromium.
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
    """Write a screenshot of the whole page for each screen size."""
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
