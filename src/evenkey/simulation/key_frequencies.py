"""Frequencies of the keys of a stream, for groupings that need them in advance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkey.groupings import limited
from evenkey.simulation.key_hashes import grown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from evenkey.core.streams import MessageStream
    from evenkey.groupings import By
    from evenkey.simulation.key_hashes import KeyHashes
    from evenkey.simulation.source_routers import Messages

_NO_WEIGHTS = np.empty(0, dtype=np.int64)


def frequencies(
    stream: MessageStream, hashes: KeyHashes, *, by: By, size: int
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Count the keys of a whole stream exactly.

    The function reads the whole stream once. Memory is 16 bytes for each key that the stream can
    have.

    Parameters
    ----------
    stream
        Stream to count.
    hashes
        Object that computes the hashes of the keys.
    by
        Whether a message counts as 1 (``messages``) or as its weight (``weights``).
    size
        Number of messages of a batch.

    Returns
    -------
    uint64[k], float64[k]
        Hashes of the keys that occur, in order of their ids in the stream, and the count of each
        key.
    """
    from evenkey.simulation import _kernels

    counts, keys = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
    for batch in stream.batches(size):
        counts, keys = grown(batch.ids, counts, keys)
        weights = limited(batch.counts) if by == "weights" else _NO_WEIGHTS
        _kernels.add_counts(batch.ids, hashes.of(batch), weights, counts, keys)
    found = counts > 0
    return keys[found], counts[found].astype(np.float64)


def count_keys(parts: Iterable[Messages]) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Count the keys of messages in memory; return the same as `frequencies`, by ascending hash."""
    held = list(parts)
    keys, places = np.unique(np.concatenate([part.keys for part in held]), return_inverse=True)
    weights = [part.weights for part in held if part.weights is not None]
    counts = np.bincount(places, np.concatenate(weights) if weights else None)
    return keys.astype(np.uint64), counts.astype(np.float64)
