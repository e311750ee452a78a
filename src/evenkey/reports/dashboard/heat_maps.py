"""The heat maps of the page: load by worker and epoch, hot keys, and owners of static partitions.

Each has a panel per run, one below the other, and one colour scale for all panels.
"""

from __future__ import annotations

import itertools
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.reports.dashboard.watched_runs import thinned
from evenkey.reports.pictures import (
    Shades,
    heat,
    look,
    marks,
    shaded,
    stacked,
    themed,
    whole_ticks,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkey.pipeline.exporters import EpochRecord
    from evenkey.reports.dashboard.watched_runs import Run
    from evenkey.reports.pictures import Figure, Theme

_MOST_EPOCHS = 200
"""Maximum number of columns of a heat map over epochs; further columns could not be seen."""
_MOST_ROWS = 64
_LONGEST_KEY = 18
_LEAST_HEIGHT, _SCALE_HEIGHT, _PANEL_MARGIN = 290, 70, 70
_THIN, _NUMBERED, _THICK, _LEAST_ROWS = 12, 15, 24, 72
"""Height in pixels of a row with no text, with numbers in its cells, and with a label of its own,
and of all rows at least."""
_BEFORE = 0.5
"""A move is marked between two epochs: so far before the epoch that comes after it."""


class Moves(NamedTuple):
    """Moves of static partitions: place between epochs, the partition, and a text for each move."""

    epochs: list[float]
    partitions: list[int]
    texts: list[str]

    def of(self, partitions: Sequence[int]) -> Moves:
        """Return the moves of some partitions."""
        chosen = set(partitions)
        kept = [place for place, each in enumerate(self.partitions) if each in chosen]
        return Moves(
            [self.epochs[place] for place in kept],
            [self.partitions[place] for place in kept],
            [self.texts[place] for place in kept],
        )


class Panel(NamedTuple):
    """The panel of a run in a heat map.

    Parameters
    ----------
    title
        Text above the panel.
    height
        Height of all rows in pixels.
    cells
        The coloured cells.
    across, up
        Options of the two axes.
    moves
        Moves, which are marked by diamonds.
    """

    title: str
    height: int
    cells: Any
    across: dict[str, Any]
    up: dict[str, Any]
    moves: Moves = Moves([], [], [])


class HeatMap(NamedTuple):
    """A heat map of several runs.

    Parameters
    ----------
    across
        Title of the horizontal axis.
    panel
        Function that returns the panel of a run; None if the run has no data for it.
    shades
        Function that returns the scale of colours for all panels.
    """

    across: str
    panel: Callable[[Run], Panel | None]
    shades: Callable[[Sequence[Run]], Shades]

    def height(self, runs: Sequence[Run]) -> int:
        """Return the height of the chart in pixels."""
        panels = self._panels(runs)
        inner = sum(panel.height + _PANEL_MARGIN for panel in panels)
        return max(_LEAST_HEIGHT if not panels else 0, inner + _SCALE_HEIGHT)

    def draw(self, runs: Sequence[Run], theme: Theme) -> Figure:
        """Draw the heat map; an empty figure if no run has data for it."""
        figure, panels = themed(theme, self.across, ""), self._panels(runs)
        if not panels:
            return figure
        inner = self.height(runs) - _SCALE_HEIGHT
        heights = [float(panel.height) for panel in panels]
        titles = [panel.title for panel in panels]
        grid = stacked(figure, heights, titles, _PANEL_MARGIN / inner)
        for row, panel in enumerate(panels, start=1):
            grid.add_trace(panel.cells, row=row, col=1)
            if panel.moves.epochs:
                grid.add_trace(marks(theme, *panel.moves), row=row, col=1)
            grid.update_xaxes(**panel.across, row=row, col=1)
            grid.update_yaxes(**panel.up, row=row, col=1)
        look(grid, theme)
        grid.update_yaxes(showgrid=False, ticksuffix=" ")
        grid.update_xaxes(title_text="")
        grid.update_xaxes(title_text=self.across, row=len(panels), col=1)
        grid.update_annotations(font={"size": 12, "color": theme.muted}, xanchor="left", x=0)
        grid.update_layout(margin={"t": _SCALE_HEIGHT + 24, "l": 10})
        return shaded(grid, theme, self.shades(runs))

    def _panels(self, runs: Sequence[Run]) -> list[Panel]:
        return [panel for run in runs if (panel := self.panel(run)) is not None]


def _loads_panel(run: Run) -> Panel | None:
    records = _with_loads(run)
    if not records:
        return None
    epochs = [each.epoch for each in records]
    workers = max(len(each["epoch_loads"]) for each in records)
    rows = [[_at(each["epoch_loads"], worker) for each in records] for worker in range(workers)]
    means = [sum(each["epoch_loads"]) / len(each["epoch_loads"]) for each in records]
    ratios = [
        [
            None if load is None else load / max(1, mean)
            for load, mean in zip(row, means, strict=True)
        ]
        for row in rows
    ]
    texts = [["" if load is None else f"{load:,}" for load in row] for row in rows]
    unit = escape(run.info.load_unit)
    hover = f"epoch %{{x}}, worker %{{y}}: %{{text}} {unit}, %{{z:.2f}} of the mean<extra></extra>"
    return Panel(
        escape(run.info.grouping),
        max(_LEAST_ROWS, _THIN * workers),
        heat(epochs, list(range(workers)), ratios, texts, hover),
        whole_ticks(epochs[-1] + 1),
        {"title_text": "worker", "autorange": "reversed", **whole_ticks(workers)},
    )


def _load_shades(runs: Sequence[Run]) -> Shades:
    most = (each["epoch_max_over_mean"] for run in runs for each in _with_loads(run))
    return Shades("load of the epoch / mean load of its workers", 0, max(most, default=1))


def _with_loads(run: Run) -> Sequence[EpochRecord]:
    return thinned([each for each in run.records if each.get("epoch_loads")], _MOST_EPOCHS)


def _at(values: Sequence[int], place: int) -> int | None:
    return values[place] if place < len(values) else None


def _keys_panel(run: Run) -> Panel | None:
    record = run.last_with("epoch_loads")
    if record is None or not record.hottest:
        return None
    loads = record["epoch_loads"]
    percents, texts, names = [], [], []
    for rank, hot in enumerate(record.hottest, start=1):
        held = dict(zip(hot.pool, hot.held, strict=True))
        row = [held.get(worker, 0) for worker in range(len(loads))]
        percents.append([100 * part / max(1, load) for part, load in zip(row, loads, strict=True)])
        texts.append([f"{part:,} ({100 * part / hot.messages:.1f} % of the key)" for part in row])
        names.append(f"{rank}. {_short(hot.key)} {record.share_percent(hot):.1f} %")
    hover = "%{y}<br>worker %{x}: %{text}, %{z:.1f} % of the worker's load<extra></extra>"
    return Panel(
        f"{escape(run.info.grouping)}, epoch {record.epoch}",
        _THICK * len(names),
        heat(list(range(len(loads))), names, percents, texts, hover),
        whole_ticks(len(loads)),
        {"autorange": "reversed", "type": "category"},
    )


def _key_shades(runs: Sequence[Run]) -> Shades:
    del runs
    return Shades("share of the key in the worker's load of the epoch, %", 0, 100)


def _owners_panel(run: Run) -> Panel | None:
    records = [each for each in run.records if each.owners]
    if not records:
        return None
    moves = _moves(records)
    partitions = list(range(len(records[-1].owners)))
    title = f"{len(partitions)} partitions"
    if len(partitions) > _MOST_ROWS:
        moved = sorted(set(moves.partitions))
        partitions = (moved or partitions)[:_MOST_ROWS]
        title = f"{len(partitions)} of {title}" + (" (moved)" if moved else "")
    shown = thinned(records, _MOST_EPOCHS)
    epochs = [each.epoch for each in shown]
    owners = [[each.owners[partition] for each in shown] for partition in partitions]
    hover = "epoch %{x}: partition %{y} on worker %{z}<extra></extra>"
    return Panel(
        f"{escape(run.info.grouping)}: {title}",
        max(_LEAST_ROWS, _NUMBERED * len(partitions)),
        heat(epochs, partitions, owners, list(map(_where_new, owners)), hover, written=True),
        whole_ticks(epochs[-1] + 1),
        {
            "title_text": "static partition",
            "range": [len(partitions) - 0.5, -0.5],  # the marks would widen an automatic range
            "type": "category",
            "categoryorder": "array",
            "categoryarray": partitions,
        },
        moves.of(partitions),
    )


def _moves(records: Sequence[EpochRecord]) -> Moves:
    moves = Moves([], [], [])
    for before, after in itertools.pairwise(records):
        for partition, (old, new) in enumerate(zip(before.owners, after.owners, strict=False)):
            if old != new:
                moves.epochs.append(after.epoch - _BEFORE)
                moves.partitions.append(partition)
                moves.texts.append(
                    f"before epoch {after.epoch}, partition {partition} moved from worker {old} "
                    f"to worker {new}"
                )
    return moves


def _where_new(owners: Sequence[int]) -> list[str]:
    """Return the text of the cells of a partition: its worker in the first one and after a move."""
    before = (None, *owners)
    return [
        "" if owner == last else str(owner) for last, owner in zip(before, owners, strict=False)
    ]


def _owner_shades(runs: Sequence[Run]) -> Shades:
    most = max(
        (run.info.workers for run in runs if run.records and run.records[-1].owners), default=1
    )
    title = "worker that has the partition; diamonds are moves"
    return Shades.of_workers(title, most)


LOADS = HeatMap("epoch", _loads_panel, _load_shades)
HOT_KEYS = HeatMap("worker", _keys_panel, _key_shades)
OWNERS = HeatMap("epoch", _owners_panel, _owner_shades)


def _short(key: str) -> str:
    return escape(key if len(key) <= _LONGEST_KEY else key[: _LONGEST_KEY - 1] + "…")
