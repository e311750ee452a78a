"""What Spark itself offers for a slow stage, by its version and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.printed_text import capitalized
from evenkey.reports.diagnosis.causes import may_have_null_keys
from evenkey.reports.diagnosis.join_answers import (
    Slow,
    of_null_keys,
    of_possible_null_keys,
    of_skewed_join,
)
from evenkey.reports.diagnosis.reading import spark_settings as settings
from evenkey.reports.diagnosis.reading.spark_settings import bytes_of, setting, version_of
from evenkey.reports.diagnosis.remedies import Remedy, kind_of, names_of, quoted_names
from evenkey.reports.diagnosis.task_times import hottest_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenkey.reports.diagnosis.causes import Cause
    from evenkey.reports.diagnosis.remedies import Confidence
    from evenkey.reports.diagnosis.stage_runs import Run

_REBALANCE, _AS_OF_JOIN = (3, 2), (4, 3)
"""Versions of Spark that have the hint ``rebalance``, and as-of joins in SQL."""

_AS_OF = (
    "If the function joins each row with the nearest earlier one: Spark 4.3 has an as-of join in "
    "SQL (spark.sql.join.asofJoin.enabled), which needs no function but keeps a key in one task; "
    "eks.asof_join also divides hot keys."
)


def answers_of_spark(
    run: Run, cause: Cause, version: str, slots: int, *, stream: bool
) -> list[Remedy]:
    """Return what Spark itself offers for the cause of a stage's slowness.

    Parameters
    ----------
    run
        The run of the stage with the largest imbalance of tasks.
    cause
        Why the stage is slow.
    version
        Version of Spark, such as ``4.3.0``.
    slots
        Number of tasks that can run at the same time.
    stream
        Whether the stage belongs to an epoch of a streaming query.
    """
    answers = _ANSWERS.get(cause)
    return [] if answers is None else list(answers(Slow(run, version_of(version), slots, stream)))


def notes_of_spark(run: Run, version: str) -> list[str]:
    """Return sentences on what Spark offers for a kind of work, whose gain a log cannot show."""
    if kind_of(run.read) == "cogroups" and version_of(version) >= _AS_OF_JOIN:
        return [_AS_OF]
    return []


def note_of(remedy: Remedy) -> str:
    """Return a sentence on a remedy whose gain a log cannot show."""
    condition = remedy.condition.rstrip(":")
    return f"{capitalized(condition)}, may help: {remedy.code}"


def _of_skewed_keys(slow: Slow) -> Iterator[Remedy]:
    run, kind = slow.run, kind_of(slow.run.read)
    if kind == "join":
        yield from of_skewed_join(slow)
    if may_have_null_keys(run):
        yield from of_possible_null_keys(slow)
    piece = bytes_of(run.execution.settings, settings.PIECE_BYTES)
    if kind == "write" and slow.version >= _REBALANCE and max(run.bytes) > piece:
        names = quoted_names(names_of(run.read.exchanges[0].keys)[0])
        yield Remedy.of_spark(
            "rebalance",
            "if a value may have several files:",
            f'df.hint("rebalance", {names}).write.partitionBy({names})',
            "medium",
        )
    hottest = hottest_rows(run.rows)
    if hottest <= sum(run.rows) / slow.slots and kind != "write" and not slow.stream:
        # Of few tasks it is not known.
        yield _more_partitions(slow, 4 * slow.slots, "medium" if hottest else "low")


def _of_few_tasks(slow: Slow) -> Iterator[Remedy]:
    if not slow.run.read.exchanges:
        yield from _of_large_file(slow)
    elif not slow.stream:
        yield _more_partitions(slow, 2 * slow.slots, "low")


def _of_large_file(slow: Slow) -> Iterator[Remedy]:
    yield Remedy.of_spark(
        "repartition",
        "if the work on the rows takes the time; if reading them does, write the data in smaller "
        "files, or in a format that Spark can split:",
        f"df.repartition({slow.slots})",
        "low",
    )


def _of_spilling(slow: Slow) -> Iterator[Remedy]:
    if slow.run.read.exchanges and not slow.stream:
        partitions = 4 * max(slow.slots, len(slow.run.tasks))
        yield Remedy.of_spark(
            "memory",
            "smaller partitions, or more memory for executors (spark.executor.memory):",
            setting(settings.PARTITIONS, partitions),
            "low",
        )


def _of_slow_executor(slow: Slow) -> Iterator[Remedy]:
    del slow
    yield Remedy.of_spark(
        "replace",
        "replace it; until then let Spark start late tasks again elsewhere:",
        "spark-submit --conf spark.speculation=true ...",
        "medium",
    )


def _more_partitions(slow: Slow, wanted: int, certainty: Confidence) -> Remedy:
    """Return the remedy of more partitions of a shuffle, in which keys stay whole."""
    exchange = slow.run.read.exchanges[0]
    condition = "with more partitions:"
    if "coalesced" in exchange.adaptive:
        condition = "if adaptive execution does not merge partitions:"
        code = setting(settings.COALESCE, "false")
        if exchange.partitions < wanted:
            code += "\n" + setting(settings.PARTITIONS, wanted)
    elif exchange.origin == "REPARTITION_BY_NUM":
        code = f"df.repartition({wanted}, {quoted_names(names_of(exchange.keys)[0])})"
    else:
        code = setting(settings.PARTITIONS, max(wanted, 2 * exchange.partitions))
    return Remedy.of_spark("partitions", condition, code, certainty)


_ANSWERS: dict[Cause, Callable[[Slow], Iterator[Remedy]]] = {
    "skewed keys": _of_skewed_keys,
    "null keys": of_null_keys,
    "large file": _of_large_file,
    "few tasks": _of_few_tasks,
    "spill": _of_spilling,
    "slow executor": _of_slow_executor,
}
