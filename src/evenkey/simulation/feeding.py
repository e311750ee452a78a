"""Feeding: which source gets which message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from evenkey.core.checking import whole_number
from evenkey.core.errors import ConfigurationError
from evenkey.core.hashing import mix
from evenkey.core.spelling import unknown_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

Feed = Literal["shuffle", "key"]
"""How messages are assigned to sources; see `Feeding`."""

_SALT = 1 << 40  # no grouping chooses workers with it, so worker and source are independent


class Feeding:
    """Assigns each message of a stream to a source.

    ``shuffle`` assigns the messages in turn. With R readers, message i is read by reader i mod R,
    and each reader passes its messages to the sources in turn, reader r to source r first. So with
    one reader message i goes to source i mod S. ``key`` assigns a message by a hash of its sender
    or, if the stream has no senders, by a hash of its key. With ``key``, the sources are as skewed
    as the senders or keys (PKG paper, section 6.2, Q3), and readers change nothing.

    Parameters
    ----------
    feed
        ``shuffle`` or ``key``.
    sources
        Number of sources, S: Storm's splitters.
    readers
        Number of readers, R: Storm's spouts.

    Raises
    ------
    ConfigurationError
        `sources` or `readers` is not a whole number of at least 1, or `feed` is unknown.

    Examples
    --------
    >>> keys = np.array([7, 8, 7, 9, 7], dtype=np.uint64)
    >>> Feeding("shuffle", 3).sources_of(keys).tolist()
    [0, 1, 2, 0, 1]
    >>> Feeding("shuffle", 3, readers=2).sources_of(keys).tolist()
    [0, 1, 1, 2, 2]
    >>> Feeding("key", 3).sources_of(keys).tolist()
    [1, 1, 1, 0, 1]
    """

    def __init__(self, feed: Feed, sources: int, readers: int = 1) -> None:
        for name, number in (("source", sources), ("reader", readers)):
            whole_number(f"{name}s", number)
            if number < 1:
                message = f"{name}s = {number}: there must be at least 1 {name}"
                raise ConfigurationError(message)
        if feed not in get_args(Feed):
            unknown = unknown_name("feed", feed, get_args(Feed))
            raise unknown
        self._by_key = feed == "key"
        self._sources = sources
        self._readers = readers
        self._position = 0

    def sources_of(
        self, keys: NDArray[np.uint64], senders: NDArray[np.uint64] | None = None
    ) -> NDArray[np.int64]:
        """Return the source of each of the next messages.

        Parameters
        ----------
        keys
            uint64[n], hash of the key of each message.
        senders
            uint64[n], hash of the sender of each message. None: the stream has no senders.

        Returns
        -------
        int64[n]
            Sources, 0 to S - 1.
        """
        from evenkey.simulation import _kernels

        sources = np.empty(len(keys), dtype=np.int64)
        if self._by_key:
            hashes = mix(keys if senders is None else senders, _SALT)
            _kernels.scale(hashes, self._sources, sources)
        else:
            _kernels.take_turns(self._position, self._readers, self._sources, sources)
            self._position += len(keys)
        return sources
