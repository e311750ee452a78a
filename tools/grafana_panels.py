"""The panels of Grafana's dashboards and their queries, made from the declared metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkey.core.metrics import FIGURES, JoinFigures, shown_in
from evenkey.core.printed_text import capitalized
from evenkey.pipeline.exporters.prometheus import prometheus_name

if TYPE_CHECKING:
    from collections.abc import Collection

    from evenkey.core.metrics import Figure
    from evenkey.core.metrics.base import Place

__all__ = ["PANELS", "Panel"]


@dataclass(frozen=True)
class Panel:
    """A panel and its query in both languages.

    Parameters
    ----------
    title, description
        Texts above the panel.
    kind
        ``stat``, ``line``, ``bar`` or ``table``.
    unit
        Grafana's name of the unit.
    influx
        Parts of the InfluxQL query: the selection, the measurement, and the tag by which it is
        grouped besides the run (empty: none).
    prometheus
        PromQL query; ``{}`` is replaced by the selected runs.
    """

    title: str
    description: str
    kind: str
    unit: str
    influx: tuple[str, str, str]
    prometheus: str


_UNITS = {"ms": "s", "percent": "percent", "seconds": "s", "bytes": "decbytes"}
"""Grafana's names of units; figures with other units are plain numbers."""


def _panel(figure: Figure, kind: str) -> Panel:
    """Make the panel of a figure; a line panel also shows the figure's limit."""
    shown = [figure, *([FIGURES[figure.limit]] if figure.limit and kind == "line" else [])]
    names = [prometheus_name(each) for each in shown]
    return Panel(
        title=capitalized(figure.label) if kind == "stat" else figure.title,
        description=figure.text,
        kind=kind,
        unit=_UNITS.get(figure.unit, "short"),
        influx=(", ".join(f'last("{each.name}")' for each in shown), "evenkey_epoch", ""),
        prometheus=f'{{,__name__=~"{"|".join(names)}"}}' if len(names) > 1 else f"{names[0]}{{}}",
    )


def _panels(figures: Collection[str]) -> list[Panel]:
    """Make number panels of the figures on cards, then line panels of the figures in charts."""
    places: list[tuple[Place, str]] = [("card", "stat"), ("chart", "line")]
    return [
        _panel(each, kind)
        for place, kind in places
        for each in shown_in(place)
        if each.name in figures
    ]


_OF_HOT_KEYS = (
    'last("messages") AS "messages", "key", "share_percent", "pool", "run_workers", "workers"'
)
_JOINS = {each.name for each in JoinFigures.declared()}

PANELS = [
    *_panels(FIGURES.keys() - _JOINS),
    Panel(
        "Load of each worker",
        FIGURES["loads"].text,
        "bar",
        "short",
        ('last("loads")', "evenkey_worker", "worker"),
        "evenkey_loads{}",
    ),
    Panel(
        "Hottest keys",
        "Of the last epoch, and how many workers held them",
        "table",
        "short",
        (
            _OF_HOT_KEYS,
            "evenkey_hot_key",
            "rank",
        ),
        "evenkey_hot_key_messages{}",
    ),
    Panel(
        "Workers of the hottest keys by epoch",
        "How many workers had messages of each of these keys in the epoch, by rank or key",
        "line",
        "short",
        ('last("pool")', "evenkey_hot_key", "rank"),
        "evenkey_hot_key_workers{}",
    ),
    Panel(
        "Workers of the hottest keys so far",
        "How many workers have had messages of each of these keys in the run, by rank or key",
        "line",
        "short",
        ('last("run_workers")', "evenkey_hot_key", "rank"),
        "evenkey_hot_key_run_workers{}",
    ),
    *_panels(_JOINS),
]
