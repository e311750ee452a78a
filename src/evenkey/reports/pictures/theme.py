"""Colours and font of all charts and pages, for a light and a dark theme."""

from __future__ import annotations

from dataclasses import dataclass

PALETTE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#8C6D31",
)
"""Colours for a white background, by Okabe and Ito; colour-blind people can tell them apart."""


FONT = 'system-ui, "Segoe UI", "DejaVu Sans", sans-serif'
"""Font of all text, as a CSS ``font-family``."""


@dataclass(frozen=True)
class Theme:
    """Colours of a theme, as CSS values.

    Parameters
    ----------
    ink, muted
        Colours of text and of less important text.
    ground, surface, line, grid
        Colours of the page, of cards on the page, of the borders of cards, and of grid lines.
    good, busy, bad
        Colours of success, progress and failure.
    runs
        Colours of the runs, which colour-blind people can tell apart (after Okabe and Ito).
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
    runs: tuple[str, ...]
    heat: tuple[str, str]

    def of_run(self, number: int) -> str:
        """Return the colour of run `number`; numbers are positions in the list of runs."""
        return self.runs[number % len(self.runs)]

    def style(self) -> str:
        """Return the colours and the font as declarations of CSS variables.

        Examples
        --------
        >>> THEMES["dark"].style().partition(";")[0]
        '--ink: #e6ebf1'
        """
        names = ("ink", "muted", "ground", "surface", "line", "good", "busy", "bad")
        colours = [f"--{name}: {getattr(self, name)}" for name in names]
        return "; ".join([*colours, f"--font: {FONT}"])


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
        runs=("#0072b2", "#d55e00", "#008a64", "#b8528c", "#806000", "#3a8fc4", "#5b5b5b"),
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
        runs=("#56b4e9", "#f08a4b", "#33c79a", "#e39ac6", "#d9b33d", "#8fd0ff", "#b5b5b5"),
        heat=("#202b37", "#6cc0f5"),
    ),
}
