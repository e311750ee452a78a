"""Every page in a browser: light and dark, on a laptop and a phone; it fits and can be read by all.

The screenshots are in ``build/screenshots/pages``.
"""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

from evenkey.papers.experiments import QUICK, run, write_index
from evenkey.papers.experiments import write_page as write_experiment
from evenkey.reports.advice import Setting, advise
from evenkey.reports.advice.advice_page import write_page as write_advice
from evenkey.reports.diagnosis import diagnose
from evenkey.reports.diagnosis import write_page as write_diagnosis
from evenkey.reports.pictures import THEMES
from tests.advice.conftest import sample_of
from tests.components import skip_without
from tests.diagnosis.writing import Log, applied, skewed
from tests.examples.demo_pages import write_demo
from tests.experiments.conftest import SmallExperiment
from tests.tiers import most_in_soak
from tools.chromium import SIZES, chromium

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots" / "pages"
MOST_BYTES = 1_500_000
CUT_OFF = """[...document.querySelectorAll("main *")].filter(each =>
  each.getBoundingClientRect().right > document.documentElement.clientWidth
  && !each.closest(".frame, pre")).map(each => each.outerHTML.slice(0, 200))"""
"""Elements that reach beyond the window, although no frame scrolls them."""


@pytest.fixture(scope="module")
def browser():
    if shutil.which("chromium") is None:
        skip_without("chromium", "chromium is not installed (apt-get: chromium)")
    with chromium() as browser:
        yield browser


def advice_page(folder):
    setting = Setting(("clicks.csv",), "csv", "country")
    advice = advise(sample_of("country-skew-r80", 8000), setting, [4, 8, 16])
    write_advice(advice, folder / "advice.html")


def diagnosis_page(folder):
    logs = folder / "logs"
    logs.mkdir()
    skewed(name="orders", seconds_a_row=0.2).write(logs / "orders")
    wide = Log("clicks of a whole year, by user and day", slots=200)
    wide.execution(0, applied(), "collect at /srv/jobs/with/a/long/path/clicks_by_user.py:1017")
    rows = [40_000, *range(20_000, 10_000, -60)]
    wide.stage(0, rows, [each / 1000 for each in rows])
    wide.write(logs / "clicks")
    write_diagnosis(diagnose(logs), folder / "diagnosis.html")


def page_of_balanced_jobs(folder):
    Log().write(folder / "balanced")
    write_diagnosis(diagnose(folder / "balanced"), folder / "nothing-to-change.html")


def experiment_pages(folder):
    write_experiment(run(SmallExperiment(), QUICK, folder), folder)
    write_index(folder)


def demo_page(folder):
    write_demo(folder, cores=2)


PAGES = {
    "advice": advice_page,
    "diagnosis": diagnosis_page,
    "nothing-to-change": page_of_balanced_jobs,
    "small-table-1-quick": experiment_pages,
    "index": experiment_pages,
    "demo": demo_page,
}
"""What writes each page into a folder."""


SCHEMES = ("light", "dark")


@pytest.mark.slow(6)
@pytest.mark.parametrize(
    ("name", "size", "scheme"),
    most_in_soak(
        itertools.product(PAGES, SIZES, SCHEMES),
        6,
        slow=[
            ("advice", "phone", "light"),
            ("diagnosis", "laptop", "dark"),
        ],
    ),
)
def test_a_page_fits_and_can_be_read(browser, tmp_path, name, size, scheme):
    from axe_playwright_python.sync_playwright import Axe

    PAGES[name](tmp_path)
    file = tmp_path / f"{name}.html"
    assert file.stat().st_size < MOST_BYTES
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    width, height = SIZES[size]
    window = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    errors: list[str] = []
    asked: list[str] = []
    window.on("pageerror", lambda error: errors.append(str(error)))
    window.on("console", lambda line: errors.append(line.text))
    window.on("request", lambda request: asked.append(request.url))
    window.goto(file.as_uri())
    window.screenshot(path=SCREENSHOTS / f"{name}-{size}-{scheme}.png", full_page=True)
    assert window.evaluate("document.documentElement.scrollWidth") == width
    assert window.evaluate(CUT_OFF) == []
    background = window.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == rgb(THEMES[scheme].surface)
    assert errors == []
    assert asked == [file.as_uri()]
    found = Axe().run(window).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
    window.close()


def rgb(colour):
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgb({red}, {green}, {blue})"
