"""Hashes of keys: the hashes that a stream contains, or MurmurHash3 as in the papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from evenkey.core.hashing import murmur3_strings
from evenkey.core.spelling import unknown_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.core.streams import MessageBatch, MessageStream

HashName = Literal["xxhash64", "murmur3"]
"""Hashes of keys that a simulation can use."""


class KeyHashes:
    """Computes the hashes of the keys of a stream's messages.

    ``xxhash64`` is the hash that batches already contain and that Spark uses. ``murmur3`` is the
    hash of the papers' programs (`evenkey.core.hashing.murmur3_strings`). With ``murmur3``, each
    key is hashed once, at its first message, and the hash is kept, which takes 9 bytes per key.

    Parameters
    ----------
    stream
        Stream that the batches come from.
    name
        ``xxhash64`` or ``murmur3``.

    Raises
    ------
    ConfigurationError
        `name` is unknown.
    """

    def __init__(self, stream: MessageStream, name: HashName) -> None:
        if name not in get_args(HashName):
            unknown = unknown_name("hash", name, get_args(HashName))
            raise unknown
        self._stream = stream
        self._own = name == "xxhash64"
        self._known = np.zeros(0, dtype=np.bool_)
        self._hashes = np.zeros(0, dtype=np.uint64)

    def of(self, batch: MessageBatch) -> NDArray[np.uint64]:
        """Return the hash of the key of each message of a batch, uint64[n]."""
        if self._own or not len(batch.ids):
            return batch.keys
        self._known, self._hashes = grown(batch.ids, self._known, self._hashes)
        new = np.unique(batch.ids[~self._known[batch.ids]])
        if len(new):
            self._hashes[new] = murmur3_strings(self._stream.texts(new))
            self._known[new] = True
        return self._hashes[batch.ids]


def grown(ids: NDArray[np.int64], *arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return arrays of equal length with a place for each id; if one is missing, twice as long."""
    size, needed = len(arrays[0]), int(ids.max(initial=-1)) + 1
    if needed <= size:
        return arrays
    more = max(needed, 2 * size) - size
    return tuple(np.append(each, np.zeros(more, each.dtype)) for each in arrays)
