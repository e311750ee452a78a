"""Take screenshots of pages of the site, and list what does not fit.

Without names of pages, all are shown but single decision records. Each page is shown at the size of
a laptop and of a phone, light and dark, from a server: without one, search and the page for wrong
addresses do not work. Needs Chromium.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.server
import sys
import threading
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tools.chromium import SIZES, chromium

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

__all__ = ["built", "main"]

SITE = Path("build/site")
FEW = (
    *("index", "start", "should-i", "gallery", "operators", "groupings", "keyed-state"),
    *("api/evenkey.spark", "commands", "benchmarks", "404"),
)
_CUT_OFF = """[...document.querySelectorAll(".md-typeset__scrollwrap")].filter(
  each => each.scrollWidth > each.clientWidth + 1).length"""
_STYLED = "getComputedStyle(document.querySelector('.md-header')).position === 'sticky'"
_SEARCH = {"laptop": ".md-search__input", "phone": "label[for=__search].md-header__button"}
_WRONG = "no/such/page"
_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def built(site: Path = SITE) -> tuple[str, ...]:
    """List the pages of a site, without single decision records."""
    pages = sorted(each.relative_to(site).with_suffix("") for each in site.rglob("*.html"))
    return tuple(each.as_posix() for each in pages if each.parts[0] != "decisions")


def main(directory: Path, pages: tuple[str, ...] = (), site: Path = SITE) -> list[str]:
    """Write the screenshots, and return a line for each page that does not fit.

    Without names of pages, a few are shown, and all are examined at the size of a laptop.
    Such a page is wider than its window, or has a table that a laptop's window cuts off (on a
    phone, tables are scrolled), or shows no search field, or has no style.
    """
    directory.mkdir(parents=True, exist_ok=True)
    found, shown = [], pages or FEW
    with _served(site) as address, chromium() as browser:
        for name, (width, height) in SIZES.items():
            for scheme in _SCHEMES:
                page = browser.new_page(
                    viewport={"width": width, "height": height}, color_scheme=scheme
                )
                examined = shown
                if not pages and (name, scheme) == ("laptop", "light"):
                    examined = built(site)
                for each in examined:
                    page.goto(f"{address}/{_WRONG if each == '404' else f'{each}.html'}")
                    page.wait_for_timeout(300)
                    found += [f"{each} at {width}: {fault}" for fault in _faults(page, name)]
                    if each not in shown:
                        continue
                    file = f"{each.replace('/', '-')}-{name}-{scheme}.png"
                    page.screenshot(path=directory / file)
                page.close()
    return sorted(set(found))


def _faults(page: Page, size: str) -> Iterator[str]:
    if page.evaluate("document.documentElement.scrollWidth") > SIZES[size][0]:
        yield "it is wider than its window"
    if size == "laptop" and (cut := page.evaluate(_CUT_OFF)):
        yield f"{cut} {'table is' if cut == 1 else 'tables are'} cut off"
    if not page.locator(_SEARCH[size]).first.is_visible():
        yield "it has no search"
    if not page.evaluate(_STYLED):
        yield "it has no style"


@contextlib.contextmanager
def _served(site: Path) -> Iterator[str]:
    """Serve a site on this machine, and yield its address."""
    handler = functools.partial(_Handler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Answers wrong addresses with the site's own page, as hosts of static sites do."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send the page for wrong addresses."""
        page = Path(self.directory, "404.html")
        if code != HTTPStatus.NOT_FOUND or not page.is_file():
            super().send_error(code, message, explain)
            return
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(page.read_bytes())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.site.looks", description=__doc__)
    parser.add_argument("directory", type=Path, help="where screenshots are written")
    parser.add_argument("pages", nargs="*", help="such as start or api/evenkey; default: all")
    return parser.parse_args()


if __name__ == "__main__":
    asked = _asked()
    for line in main(asked.directory, tuple(asked.pages) or built()):
        sys.stdout.write(f"{line}\n")
