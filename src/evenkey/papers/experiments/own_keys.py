"""Streams whose keys have names that the keys of no other stream have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from evenkey.core.hashing import hash_strings

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from evenkey.core.streams import KeyStream, MessageBatch

_STEP = 1 << 18  # keys hashed together


@dataclass(frozen=True)
class OwnKeys:
    """The messages of a generated stream, with a text before the name of each key.

    The keys of most generated streams are 0, 1, 2, and so on, in the order of their frequency. So
    the most frequent key of all of them is one key. If its hashes choose the same worker, this
    shows in the results of all streams.

    Parameters
    ----------
    stream
        The generated stream.
    prefix
        The text; a space follows it.

    Examples
    --------
    >>> from evenkey.core.streams import generated
    >>> stream = OwnKeys(generated("uniform(keys=10)", messages=4), "WP")
    >>> stream.texts(next(stream.batches()).ids).to_pylist()
    ['WP 7', 'WP 8', 'WP 5', 'WP 8']
    """

    stream: KeyStream
    prefix: str

    @property
    def name(self) -> str:
        """Spelling of the generated stream."""
        return self.stream.name

    @property
    def length(self) -> int:
        """Number of messages."""
        return self.stream.length

    def batches(self, size: int = 1 << 16) -> Iterator[MessageBatch]:
        """Yield the whole stream in batches of `size` messages."""
        for batch in self.stream.batches(size):
            yield replace(batch, keys=self._hashes[batch.ids])

    def texts(self, ids: NDArray[np.int64]) -> pa.StringArray:
        """Return the texts of keys."""
        return pc.binary_join_element_wise(self.prefix, self.stream.texts(ids), " ")

    @cached_property
    def _hashes(self) -> NDArray[np.uint64]:
        ids = np.arange(self.stream.key_count)
        parts = [ids[start : start + _STEP] for start in range(0, len(ids), _STEP)]
        return np.concatenate([hash_strings(self.texts(part)) for part in parts])
