"""What a figure is: declared once, as a field of a class, with all that is ever said of it."""

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
"""Where a figure is shown: ``card`` is a card of the live page and a number in Grafana, ``chart``
a line over the epochs in both, ``summary`` a line of ``evenkey run``, ``comparison`` and
``simulation`` a column of ``evenkey compare`` and ``evenkey simulate``."""

Scope = Literal["both", "run", "epoch"]
"""What a figure is of: of the whole run up to here, of one epoch, or each for itself."""

_DECLARED = "figure"
_MS_A_SECOND, _SHOWN_IN_SECONDS = 1000, 10_000
_AFTER = {"percent": " %", "seconds": " s", "messages/s": " /s"}
"""What is written after a number; a mere count needs nothing."""


@dataclass(frozen=True)
class Figure:
    """All that is said of a figure; its name is the same everywhere.

    Parameters
    ----------
    name
        Such as ``max_over_mean``; ``epoch_max_over_mean`` is the same of one epoch.
    unit
        Such as ``messages``, ``percent``, ``ms``; empty if there is none.
    text
        What it is, for a table, a tooltip, Prometheus.
    label
        Short name, for labels.
    kind
        Type of the value: ``int``, ``float``, ``tuple[int, ...]`` or ``tuple[float, ...]``.
    of_epoch
        Whether it is of one epoch.
    shown
        Where.
    decimals
        How many are written.
    counts_up
        Whether it never falls while a run goes on.
    limit
        Name of the figure that it is compared with, drawn beside it; empty if there is none.
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
        """Whether it is made of whole numbers."""
        return "int" in self.kind

    @property
    def by_worker(self) -> bool:
        """Whether there is one for each worker."""
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
        """What stands above a column of `cell`: its label and unit; times are in seconds."""
        return self.label + (" s" if self.unit == "ms" else _AFTER.get(self.unit, ""))

    def cell(self, value: float | None) -> str:
        """Write a value without its unit, for a column under `heading`."""
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
    """Declare a figure as a field of a class of `Figures`, whose name and type are the figure's.

    Parameters
    ----------
    of
        Computes it from what was observed.
    label
        Its name, unless something shorter is known.
    scope
        A figure that is of both has the name of the field over the whole run, and the same with
        ``epoch_`` before it of each epoch.
    unit, text, shown, decimals, counts_up, limit
        As for `Figure`; of a figure of both, charts show the epochs, all others the run.
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
            # Of what is known for both, lines go over the epochs, and all else is of the run.
            shown=frozenset(p for p in self.shown if not both or (p == "chart") == of_epoch),
            decimals=usual if self.decimals is None else self.decimals,
            counts_up=self.counts_up and not of_epoch,
            limit=self.limit,
        )


@dataclass(frozen=True, kw_only=True)
class Figures:
    """A group of figures that are computed from the same thing."""

    @classmethod
    def of(cls, seen: Any) -> Self:
        """Compute all of them from what was observed."""
        return cls(**{name: each.of(seen) for name, each, _ in cls._declarations()})

    @classmethod
    def restored(cls, record: Mapping[str, Any]) -> Self:
        """Make them of what `dataclasses.asdict` gave; what an older version lacks is NaN."""
        known = {each.name: record.get(each.name, math.nan) for each in dataclasses.fields(cls)}
        return cls(**{n: tuple(v) if isinstance(v, list) else v for n, v in known.items()})

    @classmethod
    def declared(cls) -> list[Figure]:
        """Give the declared figures in order; those of both, for the run and then for an epoch."""
        return [
            each.named(name, kind, of_epoch=of_epoch)
            for name, each, kind in cls._declarations()
            for of_epoch in (False, True)
            if each.scope in ("both", "epoch" if of_epoch else "run")
        ]

    def named(self, *, of_epoch: bool) -> dict[str, Value]:
        """Give the values of the run, or of an epoch, under the names of records."""
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
    """Give figures of a run as JSON can hold them; None if one is not known."""
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in figures.named(of_epoch=False).items()
    }
