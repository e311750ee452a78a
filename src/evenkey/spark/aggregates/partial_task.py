"""Tasks for ``mapInArrow``: compute a worker's partial aggregates, and merge or finish them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenkey.aggregators import Aggregator

# Names that a user's columns are unlikely to have.
TIME = "__time"
WINDOW = "__window"
STATES = "__states"
WEIGHT = "__weight"
_UTC = pa.timestamp("us", "UTC")
_HELD_BYTES = 1 << 25
"""Bytes of partial aggregates that a worker buffers before it merges them."""


class WorkerTask:
    """The work of a worker in one epoch: it emits one partial aggregate per group.

    Subclasses can override `hold` and `close`.

    Parameters
    ----------
    aggregator
        Aggregator, bound to the schema of the messages.
    by
        Grouping columns of the partial aggregates. If `WINDOW` is among these columns, the partial
        aggregates have the column `TIME` in its place: the latest event time of the messages in the
        window. This time lies in the same window and moves the watermark as the messages themselves
        would. A time without a zone becomes UTC.
    """

    def __init__(self, aggregator: Aggregator, by: tuple[str, ...]) -> None:
        self.aggregator = aggregator
        self.by = by

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over the batches of one partition."""
        partials: list[pa.Table] = []
        latest: list[pa.Table] = []
        held, limit = 0, _HELD_BYTES
        for batch in batches:
            if not batch.num_rows:
                continue
            messages = pa.Table.from_batches([batch])
            self.hold(messages)
            partials.append(self.aggregator.partial(messages, self.by))
            held += partials[-1].nbytes
            if WINDOW in self.by:
                latest.append(messages.group_by(WINDOW).aggregate([(TIME, "max")]))
            if held > limit:
                partials = [self.aggregator.merge(pa.concat_tables(partials), self.by)]
                held = partials[0].nbytes
                # If merging hardly reduces the size, do not merge again with every batch.
                limit = max(_HELD_BYTES, 2 * held)
        self.close()
        if partials:
            merged = self.aggregator.merge(pa.concat_tables(partials), self.by)
            yield from self._timed(merged, latest).to_batches()

    def hold(self, messages: pa.Table) -> None:
        """Process messages before the worker aggregates them. This class does nothing with them."""

    def close(self) -> None:
        """Finish the epoch before partial aggregates leave the worker. This class does nothing."""

    def _timed(self, merged: pa.Table, latest: list[pa.Table]) -> pa.Table:
        if WINDOW not in self.by:
            return merged
        windows = pa.concat_tables(latest).group_by(WINDOW).aggregate([(f"{TIME}_max", "max")])
        place = pc.index_in(merged[WINDOW], windows[WINDOW])
        times = windows[f"{TIME}_max_max"].combine_chunks().take(place.combine_chunks())
        if times.type.tz is None:
            times = times.cast(_UTC)
        return merged.set_column(merged.schema.get_field_index(WINDOW), TIME, times)


@dataclass(frozen=True)
class MergeTask:
    """Merge the partial aggregates of each group, which are in a list, and compute the results."""

    aggregator: Aggregator
    by: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over batches with the columns `by` and the column `STATES`, a list of states."""
        for batch in batches:
            states = batch.column(batch.schema.get_field_index(STATES))
            parents = pc.list_parent_indices(states)
            flat = pa.Table.from_struct_array(pc.list_flatten(states))
            groups = batch.select(list(self.by)).take(parents)
            partials = pa.Table.from_arrays(
                [*groups.columns, *flat.columns], names=[*self.by, *flat.column_names]
            )
            if partials.num_rows:
                merged = self.aggregator.merge(partials, self.by)
                yield from self.aggregator.finish(merged, self.by).to_batches()


@dataclass(frozen=True)
class FinishTask:
    """Compute results from states that Spark has merged."""

    aggregator: Aggregator
    by: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over batches with the columns `by` and the state columns."""
        for batch in batches:
            finished = self.aggregator.finish(pa.Table.from_batches([batch]), self.by)
            yield from finished.to_batches()
