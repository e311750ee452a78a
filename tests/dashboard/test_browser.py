"""The page in a real browser: it opens, follows a run, shows its end, and fits a phone."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.metrics import FIGURES
from evenkey.pipeline.exporters import History, HotKey
from evenkey.reports.dashboard import Server
from evenkey.reports.dashboard.watched_runs import Runs
from tests.components import skip_without
from tests.dashboard.joined import write_join
from tests.exporters.records import RUN, record
from tests.tiers import most_in_soak

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

_PATIENCE_MS = 240_000  # a machine that runs all tests at the same time may draw slowly
_LONGER_THAN_A_TICK = 1.5
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
QUIET = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        skip_without("chromium", "chromium is not installed (apt-get: chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def histories(tmp_path):
    """Make the histories of two runs of 10 workers: one finished, one continues."""
    made = []
    for grouping in ("kg", "dkg"):
        history = History(tmp_path / grouping / "history")
        run = dataclasses.replace(RUN, run=grouping, grouping=grouping, workers=10)
        history.begin(run)
        for epoch in range(3):
            history.add(epoch_of(grouping, epoch))
        made.append(history)
    made[0].end("finished")
    return made


def epoch_of(grouping, epoch):
    loads = [820] + [20] * 9 if grouping == "kg" else [132] * 7 + [26, 25, 25]
    held = (810,) if grouping == "kg" else (116,) * 6 + (114,)
    return record(
        epoch,
        epoch_messages=1000,
        messages=1000 * (epoch + 1),
        loads=tuple(load * (epoch + 1) for load in loads),
        epoch_loads=tuple(loads),
        epoch_max_over_mean=max(loads) / 100,
        hottest=(
            HotKey("Turkey", 810, tuple(range(len(held))), held, len(held)),
            HotKey("Peru", 9, (9,), (9,), 1),
        ),
    )


@pytest.fixture
def served(monkeypatch) -> Iterator[Callable[[Path], str]]:
    """Serve the page for a directory, and return its address."""
    # No run writes signs of life here, and the browser may be slow.
    monkeypatch.setattr("evenkey.reports.dashboard.watched_runs._SILENCE_SECONDS", 1e9)
    with contextlib.ExitStack() as servers:
        yield lambda directory: servers.enter_context(serving(directory))


@contextlib.contextmanager
def serving(directory: Path, port: int = 0) -> Iterator[str]:
    """Serve the page for a directory during the block; yield its address."""
    server = Server([directory], port=port)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server.url
    finally:
        server.close()
        thread.join(10)


@pytest.fixture
def url(tmp_path, histories, served):
    assert len(histories) == 2
    return served(tmp_path)


@pytest.fixture
def join_url(tmp_path, served):
    write_join(tmp_path / "history").end("finished")
    return served(tmp_path)


@contextlib.contextmanager
def opened(browser, url, width, height, scheme, drawn="#hot-keys .hm") -> Iterator[Page]:
    """Open the page; fail if it loads anything from another server or reports an error."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    page.set_default_timeout(_PATIENCE_MS)
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    page.goto(url)
    page.wait_for_selector(drawn, state="attached")
    yield page
    context.close()
    assert [each for each in asked if not each.startswith((url, "data:", "blob:"))] == []
    assert errors == []


def shows(page, place, text):
    """Wait until a part of the page has a text."""
    page.wait_for_function(f"document.querySelector('{place}').innerText.includes('{text}')")


@pytest.mark.slow(7)
@pytest.mark.parametrize(
    ("name", "width", "height", "scheme"),
    most_in_soak(
        [
            ("laptop-light", 1366, 768, "light"),
            ("laptop-dark", 1366, 768, "dark"),
            ("phone-light", 390, 844, "light"),
            ("phone-dark", 390, 844, "dark"),
        ],
        7,
        slow=[("laptop-dark", 1366, 768, "dark")],
    ),
)
def test_the_page_opens_and_fits(browser, url, name, width, height, scheme):
    from axe_playwright_python.sync_playwright import Axe

    with opened(browser, url, width, height, scheme) as page:
        assert page.title() == "evenkey"
        names = sorted(each.inner_text() for each in page.query_selector_all("article h2"))
        assert names == ["dkg", "kg"]
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        found = Axe().run(page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
        graphs = page.query_selector_all("section:not([hidden]) .js-plotly-plot")
        assert len(graphs) == 13
        for graph in graphs:
            box = graph.bounding_box()
            assert box is not None
            assert box["width"] > 0.8 * (width if width < 800 else width / 2) - 40
            assert box["height"] >= 290
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
        page.click("#toggle")
        other = {"light": "dark", "dark": "light"}[scheme]
        page.wait_for_function(f"document.documentElement.dataset.theme === '{other}'")


@pytest.mark.slow(4)
@pytest.mark.parametrize(
    ("width", "height"), most_in_soak([(1366, 768), (390, 844)], 4, slow=[(390, 844)])
)
def test_every_figure_and_chart_has_its_definition(browser, url, width, height):
    with opened(browser, url, width, height, "light") as page:
        names = page.query_selector_all("section:not([hidden]) .defined, article .defined")
        assert len(names) > 30
        texts = {each.text for each in FIGURES.values()}
        for name in names:
            name.hover()
            definition = name.evaluate_handle("each => each.nextElementSibling").as_element()
            assert definition is not None
            assert definition.is_visible()
            box = definition.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            if name.evaluate("each => each.closest('dt') !== null"):
                assert definition.inner_text() in texts
        names[0].focus()
        page.mouse.move(0, 0)
        shown = page.query_selector_all(".definition")
        assert sum(each.is_visible() for each in shown) == 1


@pytest.mark.slow(14)
def test_the_page_follows_a_run_and_shows_that_it_stopped(browser, url, histories):
    _, going_on = histories
    with opened(browser, url, 1280, 800, "dark") as page:
        shows(page, "#standing", "running: dkg")
        shows(page, "#cards", "3,000")
        going_on.add(epoch_of("dkg", 3))
        shows(page, "#cards", "4,000")
        points = "document.querySelectorAll('#epoch-duration-ms .scatterlayer .point').length"
        page.wait_for_function(f"{points} === 3 + 4")
        going_on.end("finished")
        shows(page, "#standing", "The stream has stopped: finished")


@pytest.mark.slow(4)
@pytest.mark.parametrize(
    ("name", "width", "height", "scheme"),
    most_in_soak(
        [("join-laptop", 1366, 768, "light"), ("join-phone", 390, 844, "dark")],
        4,
        slow=[("join-phone", 390, 844, "dark")],
    ),
)
def test_a_join_has_its_own_charts(browser, join_url, name, width, height, scheme):
    with opened(browser, join_url, width, height, scheme, drawn="#mldc .scatterlayer") as page:
        shown = [each.inner_text() for each in page.query_selector_all("section:not([hidden]) h3")]
        assert {"MLDC by epoch", "Moved partitions by epoch"} <= set(shown)
        assert {"Load of each worker, whole run", "Static loads by epoch"} <= set(shown)
        assert {"Load by worker and epoch", "Owners and moves of static partitions"} <= set(shown)
        assert "DistCost by epoch" not in shown
        assert not [each for each in shown if "keys" in each]
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert len(page.query_selector_all("#mldc .scatterlayer .trace")) == 2
        shows(page, "#cards", "moved partitions")
        page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


@pytest.mark.soak(5)
def test_a_run_that_has_yet_to_come_is_waited_for(browser, served, tmp_path):
    place = tmp_path / "to-come"
    with opened(browser, served(place), 390, 844, "dark", drawn="#standing .waiting") as page:
        shows(page, "#standing", "Waiting for a run to begin")
        assert page.query_selector_all("section:not([hidden])") == []
        history = History(place / "history")
        history.begin(RUN)
        shows(page, "#standing", "waiting for the first epoch")
        shows(page, "#cards", "waiting for the first epoch")
        history.add(record(0))
        page.wait_for_selector("#hot-keys .hm")
        shows(page, "#standing", "The stream is running: dkg")
        width = "document.querySelector('#loads .main-svg').getBoundingClientRect().width"
        page.wait_for_function(f"{width} > 300")


@pytest.mark.soak(6)
def test_runs_that_are_read_slowly_are_shown_and_followed(browser, url, histories, monkeypatch):
    """Reading takes longer than a tick, as with a remote store or on an overloaded machine."""
    read = Runs.read

    def slowly(runs):
        time.sleep(_LONGER_THAN_A_TICK)
        return read(runs)

    monkeypatch.setattr(Runs, "read", slowly)
    with opened(browser, url, 1280, 800, "dark") as page:
        shows(page, "#cards", "3,000")
        histories[1].add(epoch_of("dkg", 3))
        shows(page, "#cards", "4,000")


@pytest.mark.soak(8)
@pytest.mark.usefixtures("served")
def test_the_page_goes_on_when_its_server_is_back(browser, tmp_path, histories):
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(_PATIENCE_MS)
    with serving(tmp_path) as url:
        page.goto(url)
        page.wait_for_selector("#hot-keys .hm", state="attached")
    with page.expect_event("requestfailed"):
        pass
    histories[1].add(epoch_of("dkg", 3))
    with serving(tmp_path, port=int(url.rpartition(":")[2].strip("/"))):
        shows(page, "#cards", "4,000")
    context.close()


def test_addresses_and_directories_are_checked(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="is not a directory"):
        Server([tmp_path / "file"])
    first = Server([tmp_path], port=0)
    port = int(first.url.rpartition(":")[2].strip("/"))
    assert first.url.startswith("http://127.0.0.1:")
    with pytest.raises(ConfigurationError, match=r"cannot listen on .* another --port"):
        Server([tmp_path], port=port)
    first.close()  # nothing was served yet
