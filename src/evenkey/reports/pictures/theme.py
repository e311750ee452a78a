"""Colours and font of all charts and pages, for a light and a dark theme."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

GROUPINGS = {
    "dkg": 0,
    "kg": 1,
    "planned": 2,
    "dchoices": 3,
    "pkg": 4,
    "wchoices": 5,
    "sg": 6,
    "potc": 7,
    "cam": 8,
    "on-greedy": 9,
    "off-greedy": 10,
    "prompt": 11,
    "kip": 12,
}
"""Position of each grouping's colour in `Theme.runs`: a grouping has one colour in all charts.

A grouping that is not listed gets a colour that the chart has left.
"""

_SYNONYMS = {"hashing": "kg", "h": "kg", "static potc": "potc"}
"""Names of groupings in the PKG paper."""

_PREFERRED = {
    "ours": 0,
    "paper": 1,
    "dynamic-lb-stal": 0,
    "static-stal": 1,
    "dynamic-db-stal": 2,
    "dynamic-lb-strl": 3,
    "static-strl": 4,
    "dynamic-db-strl": 5,
    "StdDev": 0,
    "DistCost": 1,
    "Maximum load": 2,
    "Throughput": 3,
    "Latency": 4,
}
"""Positions of other names that occur in several charts: used if no grouping of the chart has them.
"""


FONT = 'system-ui, "Segoe UI", "DejaVu Sans", sans-serif'
"""Font of all text, as a CSS ``font-family``."""

_NAMES = ("ink", "muted", "ground", "surface", "line", "grid", "good", "busy", "bad", "caution")


@dataclass(frozen=True)
class Theme:
    """Colours of a theme, as CSS values.

    Parameters
    ----------
    ink, muted
        Colours of text and of less important text.
    ground, surface, line, grid
        Colours of the page, of cards on the page, of the borders of cards, and of grid lines.
    good, busy, bad, caution
        Colours of success, progress, failure and cautions.
    runs
        Colours of runs, and of lines and bars in charts. Colour-blind people can tell the first
        eight apart.
    heat
        The colours of the lowest and the highest value in heat maps.
    """

    ink: str
    muted: str
    ground: str
    surface: str
    line: str
    grid: str
    good: str
    busy: str
    bad: str
    caution: str
    runs: tuple[str, ...]
    heat: tuple[str, str]

    def of_run(self, number: int) -> str:
        """Return the colour at a position of `runs`, which begins again after its end."""
        return self.runs[number % len(self.runs)]

    def of_runs(self, names: Iterable[str]) -> list[str]:
        """Return a colour for each run: that of its grouping, if no earlier run has it.

        Examples
        --------
        >>> theme = THEMES["light"]
        >>> theme.of_runs(["kg", "pkg", "pkg(choices=3)"])[:2] == [theme.of_run(1), theme.of_run(4)]
        True
        >>> len(set(theme.of_runs(["kg", "pkg", "pkg(choices=3)"])))
        3
        """
        known = [_place(name) for name in names]
        others = cycle(_left(known))
        first = [place is not None and place not in known[:at] for at, place in enumerate(known)]
        return [
            self.of_run(place if place is not None and own else next(others))
            for place, own in zip(known, first, strict=True)
        ]

    def style(self) -> str:
        """Return the colours and the font as declarations of CSS variables.

        Examples
        --------
        >>> THEMES["dark"].style().partition(";")[0]
        '--ink: #e6ebf1'
        """
        colours = [f"{name}: {colour}" for name, colour in self.variables().items()]
        return "; ".join([*colours, f"--font: {FONT}"])

    def variables(self) -> dict[str, str]:
        """Return the colours by the name of their CSS variable.

        Examples
        --------
        >>> THEMES["light"].variables()["--run1"]
        '#f96214'
        """
        named = {f"--{name}": getattr(self, name) for name in _NAMES}
        return named | {f"--run{place}": colour for place, colour in enumerate(self.runs)}


def places_of(names: Iterable[object]) -> dict[str, int]:
    """Return the positions of names' colours in `Theme.runs`.

    A grouping, in any case and with any parameters, has its own position. Join modes, metrics, and
    figures of ours and of a paper, have their own too if no grouping takes it. Other names get the
    positions that are left, in order.

    Examples
    --------
    >>> places_of(["ours", "DKG", "pkg(choices=3)", "paper"])
    {'ours': 2, 'DKG': 0, 'pkg(choices=3)': 4, 'paper': 1}
    """
    known = {text: _place(text) for text in map(str, names)}
    for text in [text for text, place in known.items() if place is None]:
        preferred = _PREFERRED.get(text)
        if preferred not in known.values():
            known[text] = preferred
    others = cycle(_left(known.values()))
    return {text: next(others) if place is None else place for text, place in known.items()}


def _place(name: str) -> int | None:
    """Return the position of a grouping's colour; None for other names."""
    plain = name.lower().partition("(")[0]
    return GROUPINGS.get(_SYNONYMS.get(plain, plain))


def _left(known: Collection[int | None]) -> list[int]:
    """Return the positions that are not taken; all, if all are."""
    every = list(GROUPINGS.values())
    return sorted({*every} - {*known}) or sorted(every)


THEMES = {
    "light": Theme(
        ink="#1d2733",
        muted="#5b6876",
        ground="#f3f5f8",
        surface="#ffffff",
        line="#dfe5ec",
        grid="#e3e8ee",
        good="#0b7a4b",
        busy="#0b5fa5",
        bad="#b3261e",
        caution="#9a6700",
        runs=(
            *("#3267c4", "#f96214", "#0da965", "#c879b7", "#8b5c10", "#0d5561", "#2e2e2e"),
            *("#6c029b", "#c54252", "#335900", "#318286", "#b98949", "#748bfd"),
        ),
        heat=("#eef3f8", "#0b4f8a"),
    ),
    "dark": Theme(
        ink="#e6ebf1",
        muted="#9aa7b5",
        ground="#0f151c",
        surface="#18212b",
        line="#2c3743",
        grid="#2c3743",
        good="#4fd19a",
        busy="#6cc0f5",
        bad="#ff8a80",
        caution="#e3b341",
        runs=(
            *("#4271ae", "#ea7509", "#2fad74", "#c52977", "#fcb111", "#9cf4ff", "#b0b7c0"),
            *("#a266f6", "#ff8a9a", "#cbe628", "#00d3f5", "#fed4b7", "#78a0ff"),
        ),
        heat=("#202b37", "#6cc0f5"),
    ),
}
