"""What Spark itself offers for skewed joins: broadcasts, adaptive execution, and null keys."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from evenkey.reports.diagnosis.causes import SURELY_NULL
from evenkey.reports.diagnosis.reading import spark_settings as settings
from evenkey.reports.diagnosis.reading.spark_settings import bytes_of, is_on, number_of, setting
from evenkey.reports.diagnosis.remedies import (
    KIND_OF_JOIN,
    Remedy,
    kind_of,
    names_of,
    quoted_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.reports.diagnosis.remedies import Confidence
    from evenkey.reports.diagnosis.stage_runs import Run

_SMALL, _LARGE = 10 << 20, 200 << 20
"""Sizes of a side in bytes: Spark broadcasts up to the first by default; the second is the most
that a diagnosis proposes to broadcast."""

_LEAST_SPLIT, _LEAST_PIECE = 16 << 20, 1 << 20
"""Sizes of partitions in bytes: smaller ones than the first are not proposed for splitting, and no
pieces smaller than the second."""

_OTHER_SIDES = {
    "Inner": (0, 1),
    "LeftOuter": (1,),
    "LeftSemi": (1,),
    "LeftAnti": (1,),
    "RightOuter": (0,),
}
"""The sides of a join that Spark can broadcast, or copy to the pieces of the other side."""

_ADAPTIVE, _SPREADS_NULLS = (3, 0), (4, 3)
"""Versions of Spark that split joins, and that spread null keys."""

_SOME = 16
"""With so many partitions, the rows of the largest probably have a null key if they can."""

_APART = {
    "LeftOuter": 'known = left.where(F.col({first}).isNotNull()).join(right, [{keys}], "left")\n'
    "known.unionByName(left.where(F.col({first}).isNull()), allowMissingColumns=True)",
    "LeftAnti": 'known = left.where(F.col({first}).isNotNull()).join(right, [{keys}], "anti")\n'
    "known.unionByName(left.where(F.col({first}).isNull()))",
    "RightOuter": 'known = left.join(right.where(F.col({first}).isNotNull()), [{keys}], "right")\n'
    "known.unionByName(right.where(F.col({first}).isNull()), allowMissingColumns=True)",
}
"""Code that joins the rows without a null key, and adds the others."""


class Slow(NamedTuple):
    """A slow stage: its worst run, the version of Spark, the slots, and if a stream runs it."""

    run: Run
    version: tuple[int, int]
    slots: int
    stream: bool


def of_skewed_join(slow: Slow) -> Iterator[Remedy]:
    """Yield Spark's answers to a join with hot keys."""
    yield from _broadcast(slow)
    yield from _splitting(slow)


def of_null_keys(slow: Slow) -> Iterator[Remedy]:
    """Yield Spark's answers to many rows with a null key, in joins and elsewhere."""
    read = slow.run.read
    names, note = names_of(read.exchanges[0].keys)
    first, keys = quoted_names(names[:1]), quoted_names(names)
    partitions = read.exchanges[0].partitions
    certainty: Confidence = "low"
    if partitions >= _SOME:
        certainty = "high" if partitions >= SURELY_NULL else "medium"
    if kind_of(read) != "join":
        condition = "if rows with a null key are not needed:"
        code = f"df.where(F.col({first}).isNotNull())"
        if not slow.stream:
            yield Remedy.of_spark("drop", f"{condition} {note}".strip(), code, certainty)
    elif slow.version >= _SPREADS_NULLS:
        if not is_on(slow.run.execution.settings, settings.SPREAD_NULLS):
            condition = "Spark then spreads the rows with a null key, which match nothing:"
            code = setting(settings.SPREAD_NULLS, "true")
            yield Remedy.of_spark("nulls", condition, code, certainty)
    elif read.join_type in _APART and not slow.stream:
        condition = "rows with a null key match nothing, so they need no shuffle:"
        code = _APART[read.join_type or ""].format(first=first, keys=keys)
        yield Remedy.of_spark("nulls", f"{condition} {note}".strip(), code, certainty)


def of_possible_null_keys(slow: Slow) -> Iterator[Remedy]:
    """Yield Spark's answers to null keys in a join, where the log cannot show if keys are null."""
    note = names_of(slow.run.read.exchanges[0].keys)[1]
    condition = f"if most rows of the hottest task have a null key, which matches nothing: {note}"
    for each in of_null_keys(slow):
        yield replace(each, condition=condition.strip(), certainty="low")


def _broadcast(slow: Slow) -> Iterator[Remedy]:
    """Yield the broadcast of the smaller side, if it is small enough."""
    read, sizes = slow.run.read, [each.size for each in slow.run.writing]
    if len(sizes) != len(read.exchanges) or not read.join_type:
        return
    sides = _OTHER_SIDES.get(read.join_type, ())
    known = [(sizes[side] or _LARGE + 1, side) for side in sides]
    size, side = min(known, default=(_LARGE + 1, 0))
    if size > _LARGE:
        return
    names, note = names_of(read.exchanges[0].keys)
    frames = ["left", "right"]
    static = " is the static one and" if slow.stream else ""
    condition = f"the {frames[side]} side{static} has only {max(0.1, size / (1 << 20)):,.1f} MiB:"
    frames[side] = f"F.broadcast({frames[side]})"
    how = KIND_OF_JOIN[read.join_type]
    code = f'{frames[0]}.join({frames[1]}, [{quoted_names(names)}], "{how}")'
    certainty: Confidence = "high" if size <= _SMALL else "medium"
    yield Remedy.of_spark("broadcast", f"{condition} {note}".strip(), code, certainty)


def _splitting(slow: Slow) -> Iterator[Remedy]:
    """Yield the settings with which adaptive execution splits the largest partitions."""
    run, given = slow.run, slow.run.execution.settings
    largest = max(run.bytes)
    can = run.read.join_type in _OTHER_SIDES and slow.version >= _ADAPTIVE
    if not can or largest < _LEAST_SPLIT or "skewed" in run.read.exchanges[0].adaptive:
        return
    piece = max(_LEAST_PIECE, math.ceil(sum(run.bytes) / len(run.bytes)))
    lines = [
        setting(each, "true")
        for each in (settings.ADAPTIVE, settings.SPLIT_JOINS)
        if not is_on(given, each)
    ]
    if largest <= bytes_of(given, settings.SPLIT_BYTES):
        lines.append(setting(settings.SPLIT_BYTES, piece))
    if largest <= number_of(given, settings.SPLIT_FACTOR) * statistics.median(run.bytes):
        lines.append(setting(settings.SPLIT_FACTOR, 2))
    if not lines:
        return
    if piece < bytes_of(given, settings.PIECE_BYTES):
        lines.append(setting(settings.PIECE_BYTES, piece))
    condition = "adaptive execution then splits the largest partitions, if no later step groups:"
    split = Remedy.of_spark("adaptive", condition, "\n".join(lines), "medium")
    yield replace(split, piece_bytes=piece)
