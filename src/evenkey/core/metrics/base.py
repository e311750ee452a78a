"""Figures (metrics), each declared once as a field of a class, with its unit and description."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

Value: TypeAlias = "int | float | tuple[int, ...] | tuple[float, ...]"
"""A number, or one number for each worker."""

Place = Literal["card", "chart", "summary", "comparison", "simulation"]
"""Where a figure is shown. ``card``: as a card of the live page and a number in Grafana.
``chart``: as a line over the epochs in both. ``summary``: as a line of ``evenkey run``.
``comparison``, ``simulation``: as a column of ``evenkey compare``, ``evenkey simulate``."""

Scope = Literal["both", "run", "epoch"]
"""What a figure describes: the run so far (``run``), one epoch (``epoch``), or each (``both``)."""

_DECLARED = "figure"
_MS_A_SECOND, _SHOWN_IN_SECONDS = 1000, 10_000
_AFTER = {"percent": " %", "seconds": " s", "messages/s": " /s"}
"""Text after a number, by unit; other units add none."""


@dataclass(frozen=True)
class Figure:
    """The declaration of a figure; its name is the same everywhere.

    Parameters
    ----------
    name
        Such as ``max_over_mean``, or for the same figure of one epoch ``epoch_max_over_mean``.
    unit
        Such as ``messages``, ``percent``, ``ms``; empty if there is none.
    text
        Description, for a table, a tooltip and Prometheus.
    label
        Short name, for labels.
    kind
        Type of the value: ``int``, ``float``, ``tuple[int, ...]`` or ``tuple[float, ...]``.
    of_epoch
        Whether it describes one epoch; otherwise it describes the run.
    shown
        Places that show it.
    decimals
        Number of decimals to write.
    counts_up
        Whether its value never falls during a run.
    limit
        Name of the figure that is drawn beside it as its limit; empty if there is none.
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

    @property
    def whole(self) -> bool:
        """Whether its values are whole numbers."""
        return "int" in self.kind

    @property
    def by_worker(self) -> bool:
        """Whether its value has one number for each worker."""
        return self.kind.startswith("tuple")

    def written(self, value: float | None) -> str:
        """Format a value with its unit; ``-`` if it is unknown.

        Examples
        --------
        >>> from evenkey.core.metrics import FIGURES
        >>> FIGURES["stddev_percent"].written(4.7041), FIGURES["latency_p50_ms"].written(12_345)
        ('4.70 %', '12.3 s')
        """
        if value is None or math.isnan(value):
            return "-"
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
) -> Any:
    """Declare a figure as a field of a subclass of `Figures`; the field has its name and type.

    Parameters
    ----------
    of
        Function that computes its value from the observations, such as a `Seen`.
    label
        Short name; empty: the name of the field.
    scope
        ``both`` declares two figures: one of the run with the name of the field, and one of each
        epoch with ``epoch_`` before that name.
    unit, text, shown, decimals, counts_up, limit
        As for `Figure`. With scope ``both``, charts show the figure of epochs, and all other
        places the figure of the run.
    """
    return dataclasses.field(
        metadata={
            _DECLARED: _Declaration(unit, text, of, label, scope, shown, decimals, counts_up, limit)
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
        """Restore figures from `dataclasses.asdict`; those that an older version lacks are NaN."""
        known = {each.name: record.get(each.name, math.nan) for each in dataclasses.fields(cls)}
        return cls(**{n: tuple(v) if isinstance(v, list) else v for n, v in known.items()})

    @classmethod
    def declared(cls) -> list[Figure]:
        """Return the declared figures; one of scope ``both`` is two, of a run and an epoch."""
        return [
            each.named(name, kind, of_epoch=of_epoch)
            for name, each, kind in cls._declarations()
            for of_epoch in (False, True)
            if each.scope in ("both", "epoch" if of_epoch else "run")
        ]

    def named(self, *, of_epoch: bool) -> dict[str, Value]:
        """Return the values of the run, or of an epoch, by the names that records use."""
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
    """Convert the figures of a run to values that JSON can represent; unknown ones become None."""
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in figures.named(of_epoch=False).items()
    }
