"""Advice as a whole: measure, predict, recommend, write the code."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkey.advice.measure import Skew, measure
from evenkey.advice.predict import Prediction, predict, usual_groupings, worker_range
from evenkey.advice.program import Setting, program_for
from evenkey.advice.recommend import Recommendation, combined_by_spark, recommend
from evenkey.checking import shown, whole_number
from evenkey.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkey.advice.sample import Sample


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
            "messages": self.skew.messages,
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
    sample: Sample,
    setting: Setting,
    workers: Sequence[int],
    *,
    groupings: Sequence[str] | None = None,
    sources: int = 5,
    on_progress: Callable[[str], None] | None = None,
) -> Advice:
    """Measure a sample, predict what groupings make of it, and recommend one.

    Parameters
    ----------
    sample, setting
        The messages, where they come from and what is computed of them.
    workers
        Worker counts to choose from; with one alone, some around it are predicted too.
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
        There is no such grouping, aggregator or split, or a number is below 1.
    """
    given: object = workers  # callers without a type checker pass anything
    counts = list(given) if isinstance(given, Iterable) else []
    for each in counts:
        whole_number("workers", each)
    if not counts or min(counts) < 1:
        message = f"workers = {shown(workers)}: name one or more worker counts of at least 1"
        raise ConfigurationError(message)
    combined = combined_by_spark(setting.aggregator)
    skew = measure(sample)
    groupings = usual_groupings() if groupings is None else groupings
    predictions = predict(
        sample,
        groupings,
        worker_range(workers),
        sources=sources,
        on_progress=on_progress,
    )
    recommendation = recommend(skew, predictions, workers, groupings=groupings, combined=combined)
    code = program_for(setting, recommendation)
    return Advice(sample, setting, skew, tuple(predictions), recommendation, code)
