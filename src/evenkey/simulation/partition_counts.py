"""Messages and keys of state partitions, epoch by epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenkey.simulation.key_hashes import grown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evenkey.core.streams import MessageStream
    from evenkey.simulation.key_hashes import KeyHashes

_BATCH_MESSAGES = 1 << 16


class EpochCounts(NamedTuple):
    """What P state partitions had in an epoch.

    Parameters
    ----------
    messages
        int64[P], messages of each partition in the epoch.
    hottest
        Messages of the hottest key in the epoch.
    keys
        int64[P], distinct keys of each partition up to the end of the epoch: its states.
    held
        int64[P], messages of each partition up to the end of the epoch.
    """

    messages: NDArray[np.int64]
    hottest: int
    keys: NDArray[np.int64]
    held: NDArray[np.int64]


def counted_epochs(
    stream: MessageStream, hashes: KeyHashes, partitions: int, epoch_messages: int
) -> Iterator[EpochCounts]:
    """Count a stream in epochs of `epoch_messages` messages, of which the last may be shorter.

    The partition of a key is its hash modulo P. Memory is 13 bytes for each key.
    """
    counting = _Counting(partitions)
    for batch in stream.batches(_BATCH_MESSAGES):
        keys, start = hashes.of(batch), 0
        while start < len(keys):
            stop = start + epoch_messages - counting.messages
            counting.add(batch.ids[start:stop], keys[start:stop])
            if counting.messages == epoch_messages:
                yield counting.end_epoch()
            start = stop
    if counting.messages:
        yield counting.end_epoch()


class _Counting:
    """Counts the messages of each key in an epoch, and which keys have a state."""

    def __init__(self, partitions: int) -> None:
        self.messages = 0
        self._partitions = partitions
        self._of_key = np.zeros(0, dtype=np.int32)
        self._known = np.zeros(0, dtype=np.bool_)
        self._counts = np.zeros(0, dtype=np.int64)
        self._keys = np.zeros(partitions, dtype=np.int64)
        self._held = np.zeros(partitions, dtype=np.int64)

    def add(self, ids: NDArray[np.int64], keys: NDArray[np.uint64]) -> None:
        """Add messages, by the ids and the hashes of their keys."""
        self._of_key, self._known, self._counts = grown(
            ids, self._of_key, self._known, self._counts
        )
        self._of_key[ids] = keys % np.uint64(self._partitions)
        np.add.at(self._counts, ids, 1)
        self.messages += len(ids)

    def end_epoch(self) -> EpochCounts:
        """Return the counts of the epoch, and begin the next one."""
        seen = np.flatnonzero(self._counts)
        new = seen[~self._known[seen]]
        self._known[new] = True
        messages = np.zeros(self._partitions, dtype=np.int64)
        np.add.at(messages, self._of_key[seen], self._counts[seen])
        np.add.at(self._keys, self._of_key[new], 1)
        self._held += messages
        counts = EpochCounts(
            messages, int(self._counts.max()), self._keys.copy(), self._held.copy()
        )
        self._counts[seen] = 0
        self.messages = 0
        return counts
