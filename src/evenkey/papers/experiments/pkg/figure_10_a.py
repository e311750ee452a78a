"""PKG, figure 10 a: throughput against the cost per message (question Q5)."""

from __future__ import annotations

from dataclasses import replace

from evenkey.papers.experiments import NOT_GIVEN, Experiment, Frame, PipelineRun, Scale
from evenkey.papers.experiments.pkg.deployment import (
    OURS_NOTE,
    THROUGHPUT,
    WP,
    every_scheme,
    replayed,
    schemes,
)
from evenkey.reports.pictures import Axis, Chart, Column, Plot

_QUICK_COSTS = (0.1, 0.5, 1.0)
_COSTS = (0.1, 0.25, 0.4, 0.5, 0.75, 1.0)
_EPOCH_SECONDS = 10.0
_PART_RATE, _PART_EPOCH = 12_000.0, 20_000


def with_costs(scale: Scale) -> list[PipelineRun]:
    """Declare a run of each scheme with every cost per message; messages arrive at a fixed rate."""
    stream = replayed(WP, scale)
    if scale.whole:
        rate = stream.rate or 0
        epochs = round((stream.messages or 0) / (rate * _EPOCH_SECONDS))
    else:
        rate, epochs = _PART_RATE, 4 if scale.shortest else 12
        stream = replace(stream, messages=epochs * _PART_EPOCH)
    return [
        each
        for cost in (_COSTS if scale.whole else _QUICK_COSTS)
        for each in every_scheme(WP, stream, scale, epochs=epochs, cost_ms=cost, arrival_rate=rate)
    ]


class CostPerMessage(Experiment):
    id = "pkg-figure-10-a"
    title = "Throughput against the cost per message"
    summary = (
        "WP, 8 sources; 10 workers for KG, 8 workers and 2 aggregators for the others. Messages "
        "arrive at a rate, as the paper's sources give them: 13,600 a second, with which KG "
        "saturates at the paper's 0.4 ms; below scale full, where an epoch of Spark's costs as "
        "much as thousands of messages, 12,000 a second of a Zipf stream with WP's messages a key "
        f"and its most frequent key. {OURS_NOTE}"
    )

    table = "Throughput and latency, measured"
    columns = (
        Column("cost_ms", "Cost per message, ms", ".2f"),
        Column("scheme", "Scheme"),
        Column("workers", "Workers", "d"),
        Column("messages_per_second", "Throughput, messages/s", ",d"),
        Column("latency_mean_ms", "Mean latency, ms", ",d"),
        Column("max_over_mean", "Maximum load, over the mean", ".2f"),
        Column("pairs", "Counters in all", ",d"),
    )
    note = f"Latency is that of an epoch, once its messages have arrived. {NOT_GIVEN}"

    def scenarios(self, scale: Scale) -> list[PipelineRun]:
        return with_costs(scale)

    def labelled(self, frame: Frame) -> Frame:
        return schemes(frame)

    def plots(self, frame: Frame) -> list[Plot]:
        (rate,) = frame["arrival_rate"].unique()
        note = f"Messages arrive at {rate:,.0f} a second: no scheme can be faster."
        cost = Axis("cost_ms", "Cost per message, ms")
        return [Chart("Throughput", cost, THROUGHPUT, "scheme", note=note).plot(frame)]
