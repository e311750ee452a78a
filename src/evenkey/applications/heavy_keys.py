"""Heavy hitters: the most frequent keys of each window, with an error bound for each key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from evenkey.aggregators import HeavyHitters
from evenkey.applications.base import PipelineApplication
from evenkey.applications.word_count import split_into_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.pipeline.aggregate import PipelineOptions


@dataclass(frozen=True)
class FindHeavyHitters(PipelineApplication):
    """Finds the most frequent keys (``heavy-hitters``; PKG paper, section 4.2).

    The aggregator is `HeavyHitters`. Its parameter ``choices`` is the maximum number of workers
    that the grouping sends a key to. So the error of a key adds up the errors of one worker under
    ``kg``, of two workers under ``pkg``, and of up to W workers under groupings that may send a key
    to any of the W workers. Lines of text are split into words; other input keeps its own keys.

    Parameters
    ----------
    k, capacity
        As for the aggregator `HeavyHitters`.

    Examples
    --------
    >>> from evenkey.applications import ApplicationConfig
    >>> options = {"application": "heavy-hitters(k=3)", "dataset": "zipf(z=1,keys=9)"}
    >>> ApplicationConfig(**options, grouping="pkg").resolved().aggregator
    'heavy-hitters(k=3,choices=2,weight=count)'

    >>> dict(FindHeavyHitters(k=3).options(ApplicationConfig(**options)))
    {'aggregator': 'heavy-hitters(k=3,weight=count)'}
    """

    name: ClassVar[str] = "heavy-hitters"
    summary: ClassVar[str] = "the most frequent keys of each window, each with its error"

    k: int = 20
    capacity: int | None = None

    def __post_init__(self) -> None:
        HeavyHitters(self.k, self.capacity)

    def options(self, config: PipelineOptions) -> Mapping[str, Any]:
        """Return the aggregator, and for plain text also the splitter."""
        choices = config.resolved_grouping().most_workers_of_a_key
        # If the user names a key column but no `count`, a column "count" of the records is not
        # a weight.
        weight = None if config.key is not None and config.count is None else "count"
        hitters = HeavyHitters(self.k, self.capacity, choices, weight)
        return {"aggregator": str(hitters), **split_into_words(config)}
