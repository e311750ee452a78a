"""Advice as a whole: measure, predict, recommend, write the code."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkey.core.checking import shown, whole_number
from evenkey.core.errors import ConfigurationError
from evenkey.reports.advice.frame_sample import sample_of_frame, spelled
from evenkey.reports.advice.measure import Skew, measure
from evenkey.reports.advice.predict import (
    BY_KEY,
    Prediction,
    predict,
    usual_groupings,
    worker_range,
)
from evenkey.reports.advice.program import FRAME, Setting, program_for
from evenkey.reports.advice.recommend import (
    Recommendation,
    columns_of,
    combined_by_spark,
    recommend,
)
from evenkey.reports.advice.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class Advice:
    """What was measured, predicted and recommended.

    Parameters
    ----------
    sample, setting
        What was asked about.
    skew, predictions, recommendation
        The outcome.
    code
        A program that does as recommended.

    Examples
    --------
    >>> from evenkey import generated
    >>> sample = Sample.take(generated("zipf(z=1.4,keys=1000)", messages=2000))
    >>> setting = Setting(input=("clicks.csv",), split="csv", key="user")
    >>> advice = advise(sample, setting, workers=[4], groupings=["pkg"])
    >>> advice.predictions[0].grouping, advice.recommendation.workers
    ('sg', 4)

    >>> advice.headline.partition(",")[0]
    'About 2.2 times shorter than groupBy on 4 workers with pkg'
    >>> advice.caution is None  # all of the file was read
    True
    >>> advice.to_json()["key"]
    'user'
    """

    sample: Sample
    setting: Setting
    skew: Skew
    predictions: tuple[Prediction, ...]
    recommendation: Recommendation
    code: str

    @property
    def caution(self) -> str | None:
        """Say what a sample cannot tell; None where all was read."""
        if self.sample.whole:
            return None
        return (
            f"Measured on {self.sample.lines:,} of {self.sample.of_lines:,} lines "
            f"({self.sample.sampling}). All of them have more keys, and a key on as many workers "
            "or more: DistCost of groupings that split every key (sg, pkg) will be larger."
        )

    @property
    def headline(self) -> str:
        """What it comes to, in a sentence: how much shorter than Spark's own ``groupBy``."""
        chosen = self.recommendation
        found = {
            each.grouping: each.fullest
            for each in self.predictions
            if each.workers == chosen.workers
        }
        if chosen.grouping is None:
            return f"On {chosen.workers} workers groupBy serves as well as any grouping."
        times = found[BY_KEY] / found[chosen.grouping]
        return (
            f"About {times:.1f} times shorter than groupBy on {chosen.workers} workers with "
            f"{chosen.grouping}, where the work after the shuffle goes by rows."
        )

    def __str__(self) -> str:
        """Give the headline, the reasons, and the groupings in a table."""
        lines = [self.headline, *self.recommendation.reasons, *filter(None, [self.caution])]
        if self.sample.nulls:
            share = 100 * self.sample.nulls / self.skew.messages
            lines.append(
                f"{self.sample.nulls:,} messages ({share:.1f} %) have a null key, one like others."
            )
        lines.append(f"{'workers':>8} {'grouping':<12} {'max/mean':>9} {'DistCost':>9}")
        lines += [
            f"{each.workers:>8} {each.grouping:<12} {each.max_over_mean:>9.3f} "
            f"{each.dist_cost:>9.2f}"
            for each in self.predictions
        ]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON can hold it."""
        zipf = self.skew.zipf
        return {
            "input": list(self.setting.input),
            "split": self.setting.split,
            "key": self.setting.key,
            "aggregator": self.setting.aggregator,
            "sample": {
                "lines": self.sample.lines,
                "of_lines": self.sample.of_lines,
                "sampling": None if self.sample.whole else self.sample.sampling,
                "rejected": self.sample.rejected,
            },
            "headline": self.headline,
            "messages": self.skew.messages,
            "null_keys": self.sample.nulls,
            "keys": self.skew.keys,
            "p1": self.skew.top_share,
            "top_keys": [each._asdict() for each in self.skew.top],
            "zipf": None if zipf is None else zipf._asdict(),
            "most_workers": {"kg": self.skew.most_workers(1), "pkg": self.skew.most_workers(2)},
            "predictions": [dataclasses.asdict(each) for each in self.predictions],
            "recommendation": {
                "needed": self.recommendation.grouping is not None,
                "grouping": self.recommendation.grouping,
                "workers": self.recommendation.workers,
                "reasons": list(self.recommendation.reasons),
                "caution": self.caution,
                "code": self.code,
            },
        }


def advise(
    sample: Any,
    setting: Setting | str | Sequence[str],
    workers: int | Sequence[int],
    *,
    groupings: Sequence[str] | None = None,
    sources: int = 5,
    aggregator: str | None = None,
    rows: int = 1_000_000,
    on_progress: Callable[[str], None] | None = None,
) -> Advice:
    """Measure keys, predict what groupings make of them, and recommend one.

    Parameters
    ----------
    sample, setting
        A batch DataFrame and its key column, or columns. The command ``evenkey advise`` gives a
        `Sample` of its files, and a `Setting` with where they are and what is computed.
    workers
        Worker counts to choose from; with one alone, some around it are predicted too.
    aggregator, rows
        Of a DataFrame: what is computed by key, as a `Setting` says it, and about how many rows
        are read at most.
    groupings
        Spellings to choose from; None: `usual_groupings`. sg and kg are predicted in any
        case.
    sources
        Sources, each with local loads.
    on_progress
        Called before each simulation with what it simulates.

    Raises
    ------
    ConfigurationError
        There is no such grouping, aggregator, split or column, the DataFrame is a stream or has
        no row, or a number is below 1.

    Examples
    --------
    >>> clicks = spark.range(2000).selectExpr("if(id % 5 < 3, 'ann', 'user ' || id % 99) as user")
    >>> advice = advise(clicks, "user", workers=[4, 8], groupings=["pkg", "planned"])
    >>> advice.recommendation.grouping, advice.recommendation.workers
    ('planned', 8)
    """
    given: Any = workers  # callers without a type checker pass anything
    counts: list[int] = [given] if _is_count(given) else []
    if isinstance(given, Iterable):
        counts = list(given)
    for each in counts:
        whole_number("workers", each)
    if not counts or min(counts) < 1:
        message = f"workers = {shown(workers)}: name one or more worker counts of at least 1"
        raise ConfigurationError(message)
    if not isinstance(sample, Sample):
        combined_by_spark(aggregator)
        names: Any = setting
        sample = sample_of_frame(sample, names, rows, columns_of(aggregator))
        setting = Setting((), FRAME, spelled(names), aggregator)
    if not isinstance(setting, Setting):
        message = f"setting = {shown(setting)}: a Sample is advised on with a Setting; pass one"
        raise ConfigurationError(message)
    combined = combined_by_spark(setting.aggregator)
    skew = measure(sample)
    groupings = usual_groupings() if groupings is None else groupings
    predictions = predict(
        sample,
        groupings,
        worker_range(counts),
        sources=sources,
        on_progress=on_progress,
    )
    recommendation = recommend(skew, predictions, counts, groupings=groupings, combined=combined)
    code = program_for(setting, recommendation)
    return Advice(sample, setting, skew, tuple(predictions), recommendation, code)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
