"""Themes: equal names in light and dark, all variables of the style sheets, readable text."""

from __future__ import annotations

import importlib
import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import evenkey
from evenkey.groupings import available
from evenkey.papers.experiments.dkg.metrics import MEASURED, SIMULATED
from evenkey.reports.pictures import (
    GROUPINGS,
    THEMES,
    Shades,
    heat,
    look,
    shaded,
    stacked,
    themed,
)
from evenkey.reports.pictures.theme import places_of

PACKAGE = Path(next(iter(evenkey.__path__)))
SHEETS = sorted(PACKAGE.rglob("style.css"))


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as WCAG 2 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.parent.parent.name)
@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_a_theme_declares_every_variable_that_a_style_sheet_uses(sheet, theme):
    used = set(re.findall(r"var\((--\w+)\)", sheet.read_text()))
    assert used
    assert used <= set(re.findall(r"(--\w+):", theme.style()))


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_text_is_readable_on_cards(theme):
    for colour in (theme.ink, theme.muted, theme.good, theme.busy, theme.bad):
        assert contrast(colour, theme.surface) >= 4.5


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_lines_and_bars_can_be_seen_on_cards(theme):
    for colour in (*theme.runs, theme.caution):
        assert contrast(colour, theme.surface) >= 3
    assert len(set(theme.runs)) == len(theme.runs)


def test_a_metric_has_one_colour_whichever_others_are_beside_it():
    simulated, measured = (
        places_of(metric.short for metric in metrics.values()) for metrics in (SIMULATED, MEASURED)
    )
    common = simulated.keys() & measured.keys()
    assert common == {"StdDev", "DistCost", "Throughput"}
    assert {name: simulated[name] for name in common} == {name: measured[name] for name in common}


SEEN = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
}
"""What people see of red, green and blue light: matrices of Machado, Oliveira and Fernandes."""
_CONES = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
_OKLAB = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)


def oklab(colour: str, sight: str) -> np.ndarray:
    """Return a colour as people of a sight see it, in Oklab."""
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(SEEN[sight]) @ linear, 0, 1)
    lab: np.ndarray = np.array(_OKLAB) @ np.cbrt(np.array(_CONES) @ seen)
    return lab


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_colours_can_be_distinguished(theme):
    for sight in SEEN:
        colours = theme.runs if sight == "normal" else theme.runs[:8]
        pairs = itertools.combinations([oklab(each, sight) for each in colours], 2)
        assert min(np.linalg.norm(one - other) for one, other in pairs) > 0.1, sight


def test_groupings_have_their_own_colours():
    importlib.import_module("evenkey.papers")  # has groupings too
    assert set(GROUPINGS) <= set(available())
    assert sorted(GROUPINGS.values()) == list(range(len(GROUPINGS)))
    for theme in THEMES.values():
        assert len(theme.runs) == len(GROUPINGS)


def test_runs_beyond_the_last_colour_begin_again():
    theme = THEMES["light"]
    assert theme.of_run(len(theme.runs)) == theme.of_run(0)


def test_panels_are_below_each_other_in_the_theme():
    theme = THEMES["dark"]
    figure = stacked(themed(theme, "worker", ""), [2, 1], ["kg", "dkg"], gap=0.1)
    figure.add_trace(heat([0, 1], ["a"], [[0.0, 100.0]], [["0", "7"]], "%{text}"), 1, 1)
    look(shaded(figure, theme, Shades("share, %", 0, 100)), theme)
    assert [each.text for each in figure.layout.annotations] == ["kg", "dkg"]
    assert figure.layout.yaxis.domain[0] > figure.layout.yaxis2.domain[1]
    assert figure.layout.xaxis2.tickfont.color == theme.muted
    scale = figure.layout.coloraxis
    assert [colour for _, colour in scale.colorscale] == list(theme.heat)
    assert (scale.cmin, scale.cmax, figure.layout.title.text) == (0, 100, "share, %")


def test_a_themed_figure_names_its_axes_and_has_lines_across_alone():
    theme = THEMES["light"]
    layout = themed(theme, "Seconds", "Messages").layout
    assert (layout.xaxis.title.text, layout.yaxis.title.text) == ("Seconds", "Messages")
    assert layout.xaxis.showgrid is False
    assert layout.yaxis.showgrid is not False
    assert layout.yaxis.gridcolor == theme.grid
