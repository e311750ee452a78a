"""Cut a stream at the ends of epochs, and at the messages before which loads are probed."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from evenkey.simulation.source_routers import Messages


class Piece(NamedTuple):
    """Consecutive messages with no end of an epoch and no probe between them.

    Parameters
    ----------
    messages
        At least one message.
    probe
        Whether loads are probed before these messages.
    ends_epoch
        Whether an epoch ends after these messages.
    """

    messages: Messages
    probe: bool
    ends_epoch: bool


class Timeline:
    """Cuts a stream into epochs and probing periods, wherever its batches end.

    Parameters
    ----------
    epoch_messages
        Number of messages of an epoch. None: no epochs.
    probing_seconds
        Length of a probing period in seconds of event time. Loads are probed before the first
        message of every period except the first one. None: never.

    Raises
    ------
    ConfigurationError
        `epoch_messages` is below 1.
    """

    def __init__(self, epoch_messages: int | None, probing_seconds: float | None) -> None:
        if epoch_messages is not None and epoch_messages < 1:
            message = f"epoch_messages = {epoch_messages}: must be at least 1 message"
            raise ConfigurationError(message)
        self._epoch_messages = epoch_messages
        self._probing_seconds = probing_seconds
        self._period: float | None = None
        self._position = 0

    def cut(self, messages: Messages) -> Iterator[Piece]:
        """Cut the next messages of the stream into pieces."""
        probes = self._probes(messages.times)
        ends = self._ends(len(messages))
        edges = {0, *probes, *ends, len(messages)}
        for start, stop in pairwise(sorted(edges)):
            yield Piece(messages[start:stop], start in probes, stop in ends)

    def _ends(self, count: int) -> set[int]:
        position, every = self._position, self._epoch_messages
        self._position += count
        return set() if every is None else set(range(every - position % every, count + 1, every))

    def _probes(self, times: NDArray[np.float64]) -> set[int]:
        if self._probing_seconds is None or not len(times):
            return set()
        periods = np.floor(times / self._probing_seconds)
        before = periods[0] if self._period is None else self._period
        self._period = periods[-1]
        return set(np.flatnonzero(np.diff(periods, prepend=before)).tolist())


def epochs(timeline: Timeline, stream: Iterable[Messages]) -> Iterator[Iterator[Piece]]:
    """Yield an iterator of the pieces of each epoch; consume it before you take the next one.

    Without epochs, all messages form one epoch.
    """
    pieces = (piece for messages in stream for piece in timeline.cut(messages))
    for first in pieces:
        yield _rest_of_epoch(first, pieces)


def _rest_of_epoch(piece: Piece, pieces: Iterator[Piece]) -> Iterator[Piece]:
    yield piece
    while not piece.ends_epoch:
        try:
            piece = next(pieces)
        except StopIteration:
            return
        yield piece
