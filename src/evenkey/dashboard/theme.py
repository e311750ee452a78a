"""Colours of the page's charts, for light and dark."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["THEMES", "Theme"]


@dataclass(frozen=True)
class Theme:
    """Colours as CSS writes them.

    Parameters
    ----------
    ink, muted, grid, surface
        Text, lesser text, lines behind the data, the card under a chart.
    runs
        One a run; told apart by colour-blind readers too (after Okabe and Ito).
    heat
        From no messages to all of a key's.
    """

    ink: str
    muted: str
    grid: str
    surface: str
    runs: tuple[str, ...]
    heat: tuple[str, str]

    def of_run(self, number: int) -> str:
        """Colour of a run, by its place among the runs."""
        return self.runs[number % len(self.runs)]


THEMES = {
    "light": Theme(
        ink="#1d2733",
        muted="#5b6876",
        grid="#e3e8ee",
        surface="#ffffff",
        runs=("#0072b2", "#d55e00", "#008a64", "#b8528c", "#806000", "#3a8fc4", "#5b5b5b"),
        heat=("#eef3f8", "#0b4f8a"),
    ),
    "dark": Theme(
        ink="#e6ebf1",
        muted="#9aa7b5",
        grid="#2c3743",
        surface="#18212b",
        runs=("#56b4e9", "#f08a4b", "#33c79a", "#e39ac6", "#d9b33d", "#8fd0ff", "#b5b5b5"),
        heat=("#202b37", "#6cc0f5"),
    ),
}
