"""Images for pages: text is text, colours follow the page, names do not clash."""

from __future__ import annotations

import re

from evenkey.reports.pictures import THEMES
from evenkey.reports.pictures.drawing import svg

LIGHT = THEMES["light"]


def draw(figure):
    panel = figure.subplots()
    panel.plot([1, 2], [3, 4], "o-", color=LIGHT.of_run(1), label="$AAPL and $GOOG")
    panel.legend()


def test_text_is_text():
    assert ">$AAPL and $GOOG</text>" in svg("Loads", "loads", (400, 200), draw)


def test_colours_are_variables_of_the_page():
    image = svg("Loads", "loads", (400, 200), draw)
    assert "var(--run1)" in image
    assert "var(--ink)" in image
    assert re.findall(r"(?:fill|stroke): #[0-9a-f]{6}", image) == []


def test_an_image_has_a_name_for_people_who_do_not_see_it():
    image = svg("Loads <of> workers", "loads", (400, 200), draw)
    assert image.startswith('<svg viewBox="0 0 400 200" width="400" height="200" role="img"')
    assert 'aria-label="Loads &lt;of&gt; workers"' in image
    assert image.count("<svg") == image.count("</svg>") == 1


def test_ids_of_two_images_differ_and_an_image_is_the_same_each_time():
    first, again, other = (svg("Loads", name, (400, 200), draw) for name in ("a", "a", "b"))
    assert first == again
    ids, others = (set(re.findall(r'id="([^"]*)"', each)) for each in (first, other))
    assert ids
    assert ids.isdisjoint(others)
    assert set(re.findall(r'(?:href="|url\()#([\w]+)', first)) == ids
