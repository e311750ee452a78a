"""Streams of names of countries, one of which is hot for a part of the time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from evenkey.core.streams import KeyStream, MessageBatch


@dataclass(frozen=True)
class HotKeyStream:
    """The messages of a stream, some of which are replaced by messages of a hot key.

    Parameters
    ----------
    cold
        The stream that is replaced in part.
    hot
        Id of the hot key in this stream.
    share
        Function of times, float64[n] in seconds, that returns the chance of each message to be
        replaced, float64[n].

    Examples
    --------
    >>> from evenkey.core.streams import generated
    >>> cold = generated("uniform(keys=10)", messages=8, rate=1.0)
    >>> stream = HotKeyStream(cold, 7, lambda times: np.where(times < 4, 1.0, 0.0))
    >>> [batch.ids.tolist() for batch in stream.batches()]
    [[7, 7, 7, 7, 8, 4, 8, 1]]
    """

    cold: KeyStream
    hot: int
    share: Callable[[NDArray[np.float64]], NDArray[np.float64]]

    @property
    def name(self) -> str:
        """Spelling of the stream that is replaced in part."""
        return self.cold.name

    def batches(self, size: int = 1 << 16) -> Iterator[MessageBatch]:
        """Yield the whole stream in batches of `size` messages."""
        random = np.random.default_rng([self.cold.seed, self.hot])
        (hashed,) = self.cold.hashes(np.array([self.hot]))
        for batch in self.cold.batches(size):
            hot = random.random(len(batch.ids)) < self.share(batch.times)
            ids, keys = np.where(hot, self.hot, batch.ids), np.where(hot, hashed, batch.keys)
            yield replace(batch, ids=ids, keys=keys)

    def texts(self, ids: NDArray[np.int64]) -> pa.StringArray:
        """Return the texts of keys, as users see them."""
        return self.cold.texts(ids)
