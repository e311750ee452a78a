"""PKG, figure 10 a: throughput against the cost of a message (question Q5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.experiment import NOT_GIVEN, Experiment, Finding, Plot
from evenkey.experiments.figures import Axis, chart
from evenkey.experiments.pkg.deployment import OURS_NOTE, WP, every_scheme, replayed, schemes
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.pipeline import PipelineRun
    from evenkey.experiments.scale import Scale

__all__ = ["CostOfAMessage", "with_costs"]

_QUICK_COSTS = (0.1, 0.5, 1.0)
_COSTS = (0.1, 0.25, 0.4, 0.5, 0.75, 1.0)
_QUICK_MESSAGES, _QUICK_EPOCHS, _QUICK_RATE = 80_000, 4, 12_000.0
_EPOCH_SECONDS = 10.0
_SIMILAR = 0.15
"""Part by which throughputs may differ and count as similar."""


def with_costs(scale: Scale) -> list[PipelineRun]:
    """Run each scheme with every cost of a message, on messages that arrive at a rate."""
    stream = replayed(WP, scale, most=_QUICK_MESSAGES)
    rate, epochs = _QUICK_RATE, _QUICK_EPOCHS
    if scale.whole:
        rate = stream.rate or rate
        epochs = round((stream.messages or 0) / (rate * _EPOCH_SECONDS))
    return [
        each
        for cost in (_COSTS if scale.whole else _QUICK_COSTS)
        for each in every_scheme(WP, stream, scale, epochs=epochs, cost_ms=cost, arrival_rate=rate)
    ]


class CostOfAMessage(Experiment):
    """Throughput of the schemes as the work on a message grows from 0.1 to 1 ms."""

    id: ClassVar[str] = "pkg-figure-10-a"
    title: ClassVar[str] = "Throughput against the cost of a message"
    reference: ClassVar[str] = "PKG, figure 10 a"
    summary: ClassVar[str] = (
        "WP, 8 sources; 10 workers for KG, 8 workers and 2 aggregators for the others. Messages "
        "arrive at a rate, as the paper's sources give them: 13,600 a second, with which KG "
        "saturates at the paper's 0.4 ms; at scale quick, where an epoch of Spark's costs as much "
        "as thousands of messages, 12,000 a second of a Zipf stream with WP's messages a key and "
        f"its most frequent key. {OURS_NOTE}"
    )

    def scenarios(self, scale: Scale) -> Sequence[PipelineRun]:
        """Every scheme with every cost."""
        return with_costs(scale)

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """A row a cost and scheme."""
        columns = [
            Column("cost_ms", "Cost of a message, ms", ".2f"),
            Column("scheme", "Scheme"),
            Column("workers", "Workers", "d"),
            Column("messages_per_second", "Throughput, messages/s", ",d"),
            Column("latency_mean_ms", "Mean latency, ms", ",d"),
            Column("latency_p99_ms", "p99, ms", ",d"),
            Column("max_over_mean", "Fullest worker, of the mean load", ".2f"),
            Column("pairs", "Counters in all", ",d"),
        ]
        note = f"Latency is that of an epoch, once its messages have arrived. {NOT_GIVEN}"
        return [Table("Throughput and latency, measured", columns, schemes(frame), note)]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """A line a scheme."""
        figure = chart(
            schemes(frame),
            x=Axis("cost_ms", "Cost of a message, ms"),
            y=Axis("messages_per_second", "Throughput, messages/s"),
            group="scheme",
            legend="Scheme",
        )
        (rate,) = frame["arrival_rate"].unique()
        note = f"Messages arrive at {rate:,.0f} a second: no scheme can be faster."
        return [Plot("Throughput", figure, note)]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """Who stands the load."""
        speed = schemes(frame).pivot_table("messages_per_second", "cost_ms", "scheme")
        lost = 1 - speed.loc[speed.index.max()] / speed.loc[speed.index.min()]
        gap = (speed["SG"] / speed["PKG"] - 1).abs().max()
        ahead = speed[["PKG", "SG"]].min(axis="columns") / speed["KG"]
        return [
            Finding(
                "The throughput of KG is reduced by about 60 % when the cost increases tenfold",
                f"by {100 * lost['KG']:.0f} %",
                lost["KG"] >= 0.55,
            ),
            Finding(
                "The impact on PKG and SG is smaller, about 37 %",
                f"{100 * lost['PKG']:.0f} % and {100 * lost['SG']:.0f} %",
                lost[["PKG", "SG"]].max() < lost["KG"],
            ),
            Finding(
                "Regardless of the cost SG and PKG perform similarly",
                f"they differ by at most {100 * gap:.0f} %",
                gap < _SIMILAR,
            ),
            Finding(
                "Their throughput is higher than KG's",
                ", ".join(f"{ratio:.2f} times at {cost:g} ms" for cost, ratio in ahead.items()),
                ahead.min() > 1 - _SIMILAR and ahead.iloc[-1] > 1,
            ),
        ]
