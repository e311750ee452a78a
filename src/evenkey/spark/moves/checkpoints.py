"""Read the checkpoint of a stream: its last batch, and the positions of its sources."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.spark.sessions import returned

if TYPE_CHECKING:
    from evenkey.core.stores import Store

_VERSION = "v1"
"""Version of Spark's log of offsets, on its first line."""
_NOTHING = "-"
"""What Spark writes for a source that has offered nothing so far."""


@returned
@dataclass(frozen=True)
class OldQuery:
    """What the checkpoint of a query says after its last batch.

    Parameters
    ----------
    query
        Id of the query.
    batch
        Number of the last batch, which is committed.
    offsets
        Where the batch ended in each source, as the source writes it.
    watermark
        Watermark of the next batch, in milliseconds; 0 without one.
    """

    query: str
    batch: int
    offsets: tuple[str, ...]
    watermark: int


def id_of(checkpoint: Store) -> str | None:
    """Return the id of the query of a checkpoint; None if there is no checkpoint.

    Raises
    ------
    OSError
        The checkpoint cannot be read.
    RunError
        The checkpoint is corrupt.
    """
    content = checkpoint.find("metadata")
    return None if content is None else str(_json(checkpoint, "metadata", content).get("id"))


def last_batch(checkpoint: Store) -> int:
    """Return the number of the last batch that has begun; -1 if none has.

    Raises
    ------
    OSError
        The checkpoint cannot be read.
    """
    return max(_numbers(checkpoint, "offsets"), default=-1)


def read_checkpoint(checkpoint: Store) -> OldQuery:
    """Read what the checkpoint of a query says after its last batch.

    Raises
    ------
    ConfigurationError
        There is no checkpoint, or the last batch is not committed.
    RunError
        The checkpoint is corrupt, or Spark wrote it in another form.
    OSError
        The checkpoint cannot be read.
    """
    query = id_of(checkpoint)
    if query is None:
        message = (
            f"checkpoint = {checkpoint.url!r}: there is no checkpoint of a stream; pass the "
            "checkpointLocation of the old query"
        )
        raise ConfigurationError(message)
    batch = last_batch(checkpoint)
    if batch not in _numbers(checkpoint, "commits"):
        message = (
            f"checkpoint {checkpoint.url}: batch {max(batch, 0)} is not committed, because the "
            "query is running or was stopped within it: stop the query, or run it once more with "
            "trigger(availableNow=True)"
        )
        raise ConfigurationError(message)
    offsets, commit = f"offsets/{batch}", f"commits/{batch}"
    version, *lines = _lines(checkpoint, offsets)
    if version != _VERSION or not lines:
        message = (
            f"{checkpoint.path(offsets)} is of version {version}, and evenkey reads {_VERSION}: "
            "start the old query without spark.sql.streaming.queryEvolution.enableSourceEvolution"
        )
        raise RunError(message)
    committed = _json(checkpoint, commit, _lines(checkpoint, commit)[-1].encode())
    return OldQuery(query, batch, tuple(lines[1:]), int(committed.get("nextBatchWatermarkMs", 0)))


def start_positions(checkpoint: str, offsets: tuple[str, ...]) -> tuple[str, ...]:
    """Return where a new query begins to read in each source, as JSON.

    Parameters
    ----------
    checkpoint
        Location of the checkpoint, for messages.
    offsets
        As of `OldQuery`.

    Raises
    ------
    ConfigurationError
        A source cannot begin at a given position.

    Examples
    --------
    >>> start_positions("checkpoint", ('{"clicks":{"0":12,"1":7}}',))
    ('{"clicks":{"0":12,"1":7}}',)
    """
    for number, offset in enumerate(offsets):
        if not _can_begin(offset):
            message = (
                f"checkpoint {checkpoint}: source {number} of the query ended at {offset[:80]}; a "
                "new query can only begin there in a source of Kafka or evenkey: let the old query "
                "read such a source first"
            )
            raise ConfigurationError(message)
    return offsets


def _can_begin(offset: str) -> bool:
    """Return whether an offset is one of Kafka (by topic and partition) or of evenkey's source."""
    if offset == _NOTHING:
        return False
    try:
        found = json.loads(offset)
    except ValueError:
        return False
    if not isinstance(found, dict) or not found:
        return False
    if found.keys() == {"position"}:
        return isinstance(found["position"], int)
    return all(
        isinstance(partitions, dict)
        and partitions
        and all(each.isdigit() and isinstance(end, int) for each, end in partitions.items())
        for partitions in found.values()
    )


def _numbers(checkpoint: Store, folder: str) -> set[int]:
    names = (name.rpartition("/")[2] for name in checkpoint.names(folder))
    return {int(name) for name in names if name.isdigit()}


def _lines(checkpoint: Store, name: str) -> list[str]:
    return checkpoint.read(name).decode("utf-8").splitlines() or [""]


def _json(checkpoint: Store, name: str, content: bytes) -> dict[str, Any]:
    """Read a JSON object of a checkpoint.

    Raises
    ------
    RunError
        It is corrupt.
    """
    try:
        found = dict(json.loads(content))
    except (ValueError, TypeError) as error:
        message = (
            f"{checkpoint.path(name)} is corrupt ({error}): restore the checkpoint from a backup"
        )
        raise RunError(message) from error
    return found
