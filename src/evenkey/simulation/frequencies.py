"""How often each key of a stream occurs: for groupings that are told beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.simulation.key_hashes import KeyHashes
    from evenkey.streams import MessageStream

__all__ = ["frequencies"]

_NO_WEIGHTS = np.empty(0, dtype=np.int64)


def frequencies(
    stream: MessageStream, hashes: KeyHashes, *, weighted: bool, size: int
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Count the keys of a whole stream, exactly.

    It reads the stream once from first to last; memory is 16 bytes for each key that the stream
    can have.

    Parameters
    ----------
    stream
        What to count.
    hashes
        Hashes of its keys.
    weighted
        Whether messages count as much as they say.
    size
        Messages of a batch.

    Returns
    -------
    uint64[k], float64[k]
        Hashes of the keys that occur, in order of their numbers in the stream, and how often
        each does.
    """
    from evenkey.simulation import _kernels

    counts, keys = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
    for batch in stream.batches(size):
        short = int(batch.ids.max(initial=-1)) + 1 - len(counts)
        if short > 0:
            more = max(short, len(counts))
            counts = np.append(counts, np.zeros(more, dtype=np.int64))
            keys = np.append(keys, np.zeros(more, dtype=np.uint64))
        weights = batch.counts if weighted else _NO_WEIGHTS
        _kernels.add_counts(batch.ids, hashes.of(batch), weights, counts, keys)
    found = counts > 0
    return keys[found], counts[found].astype(np.float64)
