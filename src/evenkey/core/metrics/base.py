"""Figures (metrics), each declared once as a field of a class, with its unit and description."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from evenkey.core.printed_text import capitalized

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

Value: TypeAlias = "int | float | tuple[int, ...] | tuple[float, ...]"
"""A number, or one number for each worker."""

Place = Literal["card", "chart", "summary", "comparison", "simulation"]
"""Where a figure is shown. ``card``: as a card of the live page and a number in Grafana. ``chart``:
as a line over the epochs, on the live page and in Grafana. ``summary``: as a line in the output of
``evenkey run``. ``comparison``: as a column of ``evenkey compare``. ``simulation``: as a column of
``evenkey simulate``."""

Scope = Literal["both", "run", "epoch"]
"""What a figure describes: the run so far (``run``) or one epoch (``epoch``). ``both`` stands for
two figures, of the run so far and of one epoch."""

_DECLARED = "figure"
_MS_A_SECOND, _SHOWN_IN_SECONDS = 1000, 10_000
_KB, _MB = 1000, 1_000_000
_AFTER = {"percent": " %", "seconds": " s", "messages/s": " /s"}
"""Text after a number, by unit; other units add none."""


@dataclass(frozen=True)
class Figure:
    """The declaration of a figure, which has the same name everywhere.

    Parameters
    ----------
    name
        Name of the figure, such as ``max_over_mean`` for the run or ``epoch_max_over_mean`` for one
        epoch.
    unit
        Unit, such as ``messages``, ``percent``, ``ms``; empty if there is none.
    text
        Description, which is shown in tables, in tooltips and in Prometheus.
    label
        Short name, which is shown as the label.
    kind
        Type of the value: ``int``, ``float``, ``tuple[int, ...]`` or ``tuple[float, ...]``.
    of_epoch
        Whether the figure describes one epoch; otherwise it describes the run.
    shown
        Places that show the figure.
    decimals
        Number of decimals with which values are written.
    counts_up
        Whether the value never falls during a run.
    limit
        Name of another figure that is drawn as the limit of this figure; empty if there is none.
    least
        Lowest possible value, at which the axis of a chart starts.
    """

    name: str
    unit: str
    text: str
    label: str
    kind: str
    of_epoch: bool
    shown: frozenset[Place]
    decimals: int
    counts_up: bool
    limit: str
    least: float

    @property
    def whole(self) -> bool:
        """Whether the values of the figure are whole numbers."""
        return "int" in self.kind

    @property
    def by_worker(self) -> bool:
        """Whether a value of the figure has one number for each worker."""
        return self.kind.startswith("tuple")

    @property
    def title(self) -> str:
        """Title of a chart of the figure over the epochs."""
        title = self.label if "epoch" in self.label else f"{self.label} by epoch"
        return capitalized(title)

    def written(self, value: float | None) -> str:
        """Format a value with its unit; ``-`` if it is unknown.

        Examples
        --------
        >>> from evenkey.core.metrics import FIGURES
        >>> FIGURES["stddev_percent"].written(4.7041), FIGURES["duration_p50_ms"].written(12_345)
        ('4.70 %', '12.3 s')
        """
        if value is None or math.isnan(value):
            return "-"
        if self.unit == "bytes":
            one, name = (_MB, "MB") if value >= _MB else (_KB, "kB")
            return f"{value / one:,.1f} {name}"
        if self.unit != "ms":
            return self.cell(value) + _AFTER.get(self.unit, "")
        if value < _SHOWN_IN_SECONDS:
            return f"{value:,.{self.decimals}f} ms"
        return f"{value / _MS_A_SECOND:,.1f} s"

    @property
    def heading(self) -> str:
        """Heading of a column of `cell` values: the label and the unit; times are in seconds."""
        return self.label + (" s" if self.unit == "ms" else _AFTER.get(self.unit, ""))

    def cell(self, value: float | None) -> str:
        """Format a value without its unit, for a column under `heading`."""
        if value is None or math.isnan(value):
            return "-"
        if self.unit == "fraction":
            return f"{value:.1e}"
        if self.unit == "ms":
            return f"{value / _MS_A_SECOND:,.2f}"
        return f"{value:,.{self.decimals}f}"


def figure(
    unit: str,
    text: str,
    of: Callable[[Any], Any],
    *,
    label: str = "",
    scope: Scope = "both",
    shown: tuple[Place, ...] = (),
    decimals: int | None = None,
    counts_up: bool = False,
    limit: str = "",
    least: float = 0,
) -> Any:
    """Declare a figure as a field of a subclass of `Figures`, with the name and type of the field.

    Parameters
    ----------
    of
        Function that computes the value of the figure from the observations, such as a `Seen`.
    label
        Short name; empty: the name of the field.
    scope
        ``both`` declares two figures: one of the run with the name of the field, and one of each
        epoch with ``epoch_`` before that name.
    unit, text, shown, decimals, counts_up, limit, least
        As for `Figure`. With scope ``both``, charts show the figure of epochs, and all other
        places the figure of the run.
    """
    return dataclasses.field(
        metadata={
            _DECLARED: _Declaration(
                unit, text, of, label, scope, shown, decimals, counts_up, limit, least
            )
        }
    )


@dataclass(frozen=True)
class _Declaration:
    unit: str
    text: str
    of: Callable[[Any], Any]
    label: str
    scope: Scope
    shown: tuple[Place, ...]
    decimals: int | None
    counts_up: bool
    limit: str
    least: float

    def named(self, name: str, kind: str, *, of_epoch: bool) -> Figure:
        both, usual = self.scope == "both", 0 if "int" in kind else 2
        return Figure(
            name=_name(name, self.scope, of_epoch=of_epoch),
            unit=self.unit,
            text=self.text,
            label=self.label or name.replace("_", " "),
            kind=kind,
            of_epoch=of_epoch,
            # With scope "both", charts show the epochs, and all other places the run.
            shown=frozenset(p for p in self.shown if not both or (p == "chart") == of_epoch),
            decimals=usual if self.decimals is None else self.decimals,
            counts_up=self.counts_up and not of_epoch,
            limit=self.limit,
            least=self.least,
        )


@dataclass(frozen=True, kw_only=True)
class Figures:
    """A group of figures that are computed from the same observations."""

    @classmethod
    def of(cls, seen: Any) -> Self:
        """Compute all figures of the group from the observations."""
        return cls(**{name: each.of(seen) for name, each, _ in cls._declarations()})

    @classmethod
    def restored(cls, record: Mapping[str, Any]) -> Self:
        """Restore figures from `dataclasses.asdict`; figures that are not in the record are NaN."""
        known = {each.name: record.get(each.name, math.nan) for each in dataclasses.fields(cls)}
        return cls(**{n: tuple(v) if isinstance(v, list) else v for n, v in known.items()})

    @classmethod
    def declared(cls) -> list[Figure]:
        """Return the declared figures; scope ``both`` yields two, of a run and of an epoch."""
        return [
            each.named(name, kind, of_epoch=of_epoch)
            for name, each, kind in cls._declarations()
            for of_epoch in (False, True)
            if each.scope in ("both", "epoch" if of_epoch else "run")
        ]

    def named(self, *, of_epoch: bool) -> dict[str, Value]:
        """Return the values of a run's or an epoch's figures, by the names that records use."""
        return {
            _name(name, each.scope, of_epoch=of_epoch): getattr(self, name)
            for name, each, _ in self._declarations()
            if each.scope in ("both", "epoch" if of_epoch else "run")
        }

    @classmethod
    def _declarations(cls) -> list[tuple[str, _Declaration, str]]:
        return [
            (each.name, each.metadata[_DECLARED], str(each.type))
            for each in dataclasses.fields(cls)
            if _DECLARED in each.metadata
        ]


def _name(name: str, scope: Scope, *, of_epoch: bool) -> str:
    return f"epoch_{name}" if of_epoch and scope == "both" else name


def known(figures: Figures) -> dict[str, Any]:
    """Convert the figures of a run to values that JSON can hold; a figure that is NaN becomes None.

    A figure is NaN if the run did not measure it.
    """
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in figures.named(of_epoch=False).items()
    }
