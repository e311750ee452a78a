"""Give advice: measure the keys, predict each grouping, recommend one, write the code."""

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
    from collections.abc import Sequence

    from evenkey.reports.advice.predict import OnSimulation


@dataclass(frozen=True)
class Advice:
    """The measured skew, the predictions and the recommendation.

    Parameters
    ----------
    sample
        The messages that were measured.
    setting
        The input of these messages, the name of the key, and the aggregate to compute.
    skew
        The measured skew of the keys, such as the hottest keys and their counts.
    predictions
        Predicted metrics of each grouping on each worker count.
    recommendation
        The recommended grouping and worker count, with the reasons.
    code
        A program that follows the recommendation.

    Examples
    --------
    >>> from evenkey import advise
    >>> clicks = spark.range(2000).selectExpr("if(id % 5 < 4, 'ann', 'user ' || id % 99) as user")
    >>> advice = advise(clicks, "user", workers=[4], groupings=["planned"])
    >>> advice.predictions[0].grouping, advice.recommendation.workers
    ('sg', 4)

    >>> advice.headline.partition(",")[0]
    'About 3.4x faster than groupBy on 4 workers with planned'
    >>> advice.caution is None  # all rows were read
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
        """Warning about what a sample cannot show; None if the whole input was read."""
        if self.sample.whole:
            return None
        return (
            f"Measured on {self.sample.lines:,} of {self.sample.of_lines:,} lines "
            f"({self.sample.sampling}). The whole input has more keys, and each key is on at least "
            "as many workers: DistCost of groupings that split every key (sg, pkg) will be larger."
        )

    @property
    def headline(self) -> str:
        """The result in one sentence: the speedup over Spark's own ``groupBy``."""
        chosen = self.recommendation
        found = {
            each.grouping: each.max_load
            for each in self.predictions
            if each.workers == chosen.workers
        }
        if chosen.grouping is None:
            return f"On {chosen.workers} workers groupBy is as fast as any grouping."
        speedup = found[BY_KEY] / found[chosen.grouping]
        return (
            f"About {speedup:.1f}x faster than groupBy on {chosen.workers} workers with "
            f"{chosen.grouping}, if the work after the shuffle is per row."
        )

    def __str__(self) -> str:
        """Return the headline, the reasons, and a table of the predictions."""
        lines = [self.headline, *self.recommendation.reasons, *filter(None, [self.caution])]
        if self.sample.nulls:
            share = 100 * self.sample.nulls / self.skew.messages
            lines.append(
                f"{self.sample.nulls:,} messages ({share:.1f} %) have a null key; null is one key."
            )
        lines.append(f"{'workers':>8} {'grouping':<12} {'max/mean':>9} {'DistCost':>9}")
        lines += [
            f"{each.workers:>8} {each.grouping:<12} {each.max_over_mean:>9.3f} "
            f"{each.dist_cost:>9.2f}"
            for each in self.predictions
        ]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the advice as values that JSON can represent."""
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
    on_progress: OnSimulation | None = None,
) -> Advice:
    """Measure keys, predict the balance of groupings, and recommend one.

    Parameters
    ----------
    sample
        A batch DataFrame. (The command ``evenkey advise`` passes messages that it read from files.)
    setting
        Name of the key column, or a list of the names of several. (The command passes an object
        that names its files, their key and the aggregate.)
    workers
        Worker counts to choose from. If you give a single count, some smaller and larger counts
        are predicted too.
    aggregator
        Spelling of the aggregator that a DataFrame is for, such as ``"sum(column=amount)"``. None:
        a function of your own.
    rows
        Approximate maximum number of rows to read from a DataFrame.
    groupings
        Spellings of the groupings to choose from. None: ``dchoices``, ``dkg``, ``pkg``,
        ``planned`` and ``wchoices``. ``sg`` and ``kg`` are always predicted.
    sources
        Number of simulated sources; each source knows only the loads that it sent itself.
    on_progress
        Called before each simulation, with the number of simulations done, their number in all,
        and a description of the next simulation. None: never.

    Raises
    ------
    ConfigurationError
        A grouping, aggregator, splitter or column does not exist; the DataFrame is a stream or has
        no rows; or a number is below 1.

    Examples
    --------
    >>> clicks = spark.range(2000).selectExpr("if(id % 5 < 4, 'ann', 'user ' || id % 99) as user")
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
        message = f"setting = {shown(setting)}: must be a Setting, since sample is a Sample"
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
