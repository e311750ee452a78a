"""What work and moves of keyed state cost in a simulation."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.checking import number

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BYTES_A_MB = 1e6
_MS = 1000.0


@dataclass(frozen=True, kw_only=True)
class MoveCosts:
    """The cost model of simulated keyed state.

    A worker with capacity c works ``message_ms / c`` on a message. A worker that gets partitions
    reads their states before it works: this takes `partition_ms` for each partition, and the time
    that the bytes take. The state of a key has `key_bytes`, and `message_bytes` more for each
    message that the key has had.

    Parameters
    ----------
    message_ms
        Work on a message by a worker with capacity 1, in milliseconds.
    key_bytes
        Bytes of a state, without those that messages add.
    message_bytes
        Bytes that each message adds to the state of its key.
    read_mb_per_second
        Megabytes (10**6 bytes) of states that a worker reads per second.
    partition_ms
        Milliseconds that reading takes for each partition, in addition to the bytes.

    Raises
    ------
    ConfigurationError
        A cost is negative or not finite, or `read_mb_per_second` is not above 0.

    Examples
    --------
    Two partitions with 10 MB in total take 10 ms each, and 200 ms for the bytes.

    >>> MoveCosts().read_ms(np.array([2.0, 0.0]), np.array([10e6, 0.0])).tolist()
    [220.0, 0.0]
    """

    message_ms: float = 1.0
    key_bytes: float = 100.0
    message_bytes: float = 0.0
    read_mb_per_second: float = 50.0
    partition_ms: float = 10.0

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name == "read_mb_per_second":
                number(each.name, value, above=0)
            else:
                number(each.name, value, least=0)

    def sizes(self, keys: NDArray[np.int64], messages: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the bytes of states from their numbers of keys and of messages so far."""
        by_key = self.key_bytes * keys.astype(np.float64)
        return by_key + self.message_bytes * messages.astype(np.float64)

    def read_ms(
        self, partitions: NDArray[np.float64], sizes: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the milliseconds in which workers read so many partitions and bytes each."""
        return self.partition_ms * partitions + _MS * sizes / (
            _BYTES_A_MB * self.read_mb_per_second
        )
