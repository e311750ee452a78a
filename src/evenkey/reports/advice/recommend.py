"""Choose a grouping and a worker count from predictions, and give the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkey.aggregators import WORKER, Algebraic, parse
from evenkey.groupings import PlannedGrouping
from evenkey.reports.advice.predict import BY_KEY, YARDSTICK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.reports.advice.measure import Skew
    from evenkey.reports.advice.predict import Prediction

BALANCED = 1.1
"""Largest max/mean that counts as balanced."""

_NEAR_FASTEST = 1.1
"""A worker count counts as fast if its time is at most this factor times the shortest time."""

_LEAST_SPEEDUP = 1.05
"""A grouping is recommended only if it is at least this factor faster than placement by key."""

_NEAR_LEAST = 1.01
"""A replication counts as least if it is at most this factor times the least replication."""

_PLANNED = (
    "In a stream, the plan of an epoch is made from the previous epoch. `aggregate` and `evenkey "
    "run` spread unexpected hot keys, also in the first epoch; `route` alone does not."
)

_FEW_MESSAGES = 100
"""With fewer messages per worker than this, loads are mostly random."""


@dataclass(frozen=True)
class Recommendation:
    """The recommended grouping and worker count.

    Parameters
    ----------
    grouping
        Spelling of the grouping. None: Spark's own placement by key is as good.
    workers
        Number of workers.
    combined
        Whether Spark combines the aggregate before the shuffle, so that skew hardly matters.
    reasons
        The reasons for the recommendation, one sentence each; the main reason comes first.
    """

    grouping: str | None
    workers: int
    combined: bool
    reasons: tuple[str, ...]


def combined_by_spark(aggregator: str | None) -> bool:
    """Return whether Spark combines an aggregate before the shuffle, to one row per key and task.

    Parameters
    ----------
    aggregator
        Spelling of an aggregator. None: the user's own function.

    Raises
    ------
    ConfigurationError
        The aggregator does not exist.

    Examples
    --------
    >>> [combined_by_spark(each) for each in ("sum(column=amount)", "top-k(k=10)", None)]
    [True, False, False]
    """
    return aggregator is not None and isinstance(parse(aggregator), Algebraic)


def columns_of(aggregator: str | None) -> tuple[str, ...]:
    """Return the names of the input columns that an aggregator reads, besides the key.

    Raises
    ------
    ConfigurationError
        The aggregator does not exist.

    Examples
    --------
    >>> columns_of("sum(column=amount)"), columns_of(None)
    (('amount',), ())
    """
    columns = () if aggregator is None else parse(aggregator).columns
    return tuple(each for each in columns if each != WORKER)


def recommend(
    skew: Skew,
    predictions: Sequence[Prediction],
    asked: Sequence[int],
    *,
    groupings: Sequence[str],
    combined: bool,
) -> Recommendation:
    """Recommend a grouping and a worker count.

    First, a grouping is chosen for each worker count. If the max/mean of key grouping is at most
    1.1, key grouping is chosen. Otherwise, the grouping with the least replication is chosen among
    the groupings with a max/mean of at most 1.1; if several have the least replication, the most
    balanced of these. If no grouping has a max/mean of at most 1.1, the most balanced grouping is
    chosen. If the chosen grouping is less than 1.05x faster than key grouping, key grouping is
    chosen. Then the least worker count is chosen whose time is at most 1.1 times the shortest time.

    Parameters
    ----------
    skew
        Measured skew of the keys.
    predictions
        Predictions of each grouping on each worker count.
    asked
        Worker counts to choose from.
    groupings
        Groupings to choose from, in addition to Spark's own placement by key.
    combined
        Whether Spark combines the aggregate before the shuffle.
    """
    choice = [each for each in predictions if each.grouping in (BY_KEY, *groupings)]
    chosen = {count: _best(_on(count, choice)) for count in sorted(set(asked))}
    fastest = min(each.max_load for each in chosen.values())
    best = next(each for each in chosen.values() if each.max_load <= _NEAR_FASTEST * fastest)
    if combined:
        reason = (
            "No grouping is needed: Spark combines this aggregate before the shuffle, to one row "
            "per key and task, so a hot key costs no more than another key. Spark's own groupBy is "
            "faster than any grouping."
        )
        return Recommendation(None, best.workers, combined=True, reasons=(reason,))
    if best.grouping == BY_KEY:
        notes = (_why_none(best), *_notes(skew, choice, best))
        return Recommendation(None, best.workers, combined=False, reasons=notes)
    reasons = [_why(skew, predictions, best), *_unneeded(chosen), *_notes(skew, choice, best)]
    return Recommendation(best.grouping, best.workers, combined=False, reasons=tuple(reasons))


def _on(workers: int, predictions: Sequence[Prediction]) -> list[Prediction]:
    return [each for each in predictions if each.workers == workers]


def _best(predictions: Sequence[Prediction]) -> Prediction:
    by_key = next(each for each in predictions if each.grouping == BY_KEY)
    if by_key.max_over_mean <= BALANCED:
        return by_key
    best = _best_grouping(predictions)
    return best if by_key.max_load >= _LEAST_SPEEDUP * best.max_load else by_key


def _best_grouping(predictions: Sequence[Prediction]) -> Prediction:
    balanced = [each for each in predictions if each.max_over_mean <= BALANCED]
    if not balanced:
        return min(predictions, key=lambda each: (each.max_load, each.dist_cost))
    least = _NEAR_LEAST * min(each.dist_cost for each in balanced)
    near_least = [each for each in balanced if each.dist_cost <= least]
    return min(near_least, key=lambda each: each.max_load)


def _why_none(by_key: Prediction) -> str:
    text = (
        f"No grouping is needed on {by_key.workers} workers: placed by key, as Spark does it, the "
        f"maximum load is {by_key.max_over_mean:.2f} times the mean"
    )
    if by_key.max_over_mean <= BALANCED:
        return f"{text} (up to {BALANCED:g} counts as balanced)."
    return f"{text}, and no grouping is {_LEAST_SPEEDUP:g}x faster."


def _why(skew: Skew, predictions: Sequence[Prediction], best: Prediction) -> str:
    others = {each.grouping: each for each in _on(best.workers, predictions)}
    text = (
        f"{best.grouping} on {best.workers} workers: the maximum load is {best.max_over_mean:.2f} "
        f"times the mean, and a key is on {best.dist_cost:.2f} workers on average"
    )
    by_key = others[BY_KEY]
    if best is not by_key:
        text += f". Placed by key, the maximum load is {by_key.max_over_mean:.2f} times the mean"
        if best.workers > skew.most_workers(1):
            text += f", because the hottest key has {100 * skew.top_share:.1f} % of all messages"
    scattered = others[YARDSTICK]
    if best.grouping != YARDSTICK and scattered.dist_cost > best.dist_cost:
        text += f"; under shuffle grouping a key is on {scattered.dist_cost:.2f} workers"
    return text + "."


def _unneeded(chosen: dict[int, Prediction]) -> list[str]:
    """Return a sentence with the largest worker count that is balanced by Spark's placement.

    Return nothing if there is no such worker count.
    """
    plain = [count for count, best in chosen.items() if best.grouping == BY_KEY]
    return [f"On {max(plain)} workers no grouping would be needed."] if plain else []


def _notes(skew: Skew, choice: Sequence[Prediction], best: Prediction) -> tuple[str, ...]:
    notes = [_PLANNED] if best.grouping.partition("(")[0] == PlannedGrouping.name else []
    if best.workers > skew.most_workers(2):
        notes.append(
            f"{best.workers} workers are more than 2/p1 = {skew.most_workers(2):.1f}: the hottest "
            "key is too much for two workers, the number of workers that pkg gives a key."
        )
    elif best.workers > skew.most_workers(1):
        notes.append(
            f"{best.workers} workers are more than 1/p1 = {skew.most_workers(1):.1f}, but not more "
            "than 2/p1: the hottest key is too much for one worker, but not for two."
        )
    more = max(choice, key=lambda each: each.workers).workers
    ahead = _best(_on(more, choice))
    if more > best.workers and best.max_load >= _LEAST_SPEEDUP * ahead.max_load:
        part = 100 * ahead.max_load / best.max_load
        notes.append(
            f"{more} workers with {ahead.grouping} would take {part:.0f} % of the time, if there "
            "are cores for them."
        )
    if skew.messages < _FEW_MESSAGES * best.workers:
        notes.append(
            f"{skew.messages} messages are few for {best.workers} workers: the loads are largely "
            "random; read more."
        )
    return tuple(notes)
