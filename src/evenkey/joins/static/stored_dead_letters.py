"""Write dead letters to a store, unless the user passes their own writer of dead letters."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from evenkey.core.stores import Store
from evenkey.joins.static.objects import parquet
from evenkey.spark.sessions import BATCH, current_task
from evenkey.spark.slots import put, state_at

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from evenkey.joins.static.dead_letters import DeadLetters


class StoredDeadLetters:
    """Writes dead letters as Parquet: ``KIND/QUERY/epoch=0000000007/part-00003.parquet``.

    In a stream, QUERY is the id of the streaming query, so an epoch that runs again uses the same
    names. For a batch and for the static side, QUERY is a name that is unique to the call.

    Parameters
    ----------
    store
        The store to write to.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._call = f"batch-{uuid.uuid4().hex}"

    def write(self, kind: str, epoch: int, part: int, table: pa.Table) -> None:
        """Write a task's dead letters.

        Raises
        ------
        RunError
            The store cannot be written.
        """
        query = current_task().query
        name = self._call if query == BATCH else query
        file = f"{kind}/{name}/epoch={epoch:010d}/part-{part:05d}.parquet"
        put(self._store, file, parquet(table))


def dead_letters_at(
    session: SparkSession, place: DeadLetters | str | Path | Store | None
) -> DeadLetters | None:
    """Return the user's own writer of dead letters, or one that writes to a location.

    Raises
    ------
    ConfigurationError
        `place` is neither a writer nor a location, or no store supports its scheme.
    """
    if place is None or (hasattr(place, "write") and not isinstance(place, Store)):
        return place
    return StoredDeadLetters(state_at(session, place, "dead_letters"))
