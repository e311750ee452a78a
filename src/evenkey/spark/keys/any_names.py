"""Run Python tasks on rows with arbitrary column names."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    ArrowTask: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def with_plain_names(df: DataFrame) -> DataFrame:
    """Rename columns to names without dots: in ``mapInArrow`` Spark reads ``a.b`` as a field."""
    return df.toDF(*(f"column_{number}" for number in range(len(df.columns))))


class NamedTask:
    """A task for ``mapInArrow`` that first restores the names of the columns.

    Parameters
    ----------
    task
        Task that works on batches with these names.
    names
        Original names, in the order of the columns.
    """

    def __init__(self, task: ArrowTask, names: Sequence[str]) -> None:
        self._task = task
        self._names = list(names)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over the batches of one partition."""
        return self._task(batch.rename_columns(self._names) for batch in batches)
