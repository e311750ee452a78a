"""A bounded queue and a thread between the stream and an exporter that may be slow or dead."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from evenkey.pipeline.exporters.base import Ending, Exporter, ExportSummary, Unreachable

if TYPE_CHECKING:
    from evenkey.pipeline.exporters.epoch_record import EpochRecord

_BEAT_SECONDS = 1.0
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 3.0


class Outlet:
    """Passes records to an exporter in a separate thread; `offer` never waits.

    While the destination is unreachable, points wait in the queue and are retried at growing
    intervals of up to 3 s. A full queue drops its oldest points and counts them.

    Parameters
    ----------
    exporter
        The exporter that writes the points.
    capacity
        Maximum number of points in the queue, not counting the batch that is being written.
    patience
        Seconds that `close` waits for the remaining points.
    """

    def __init__(
        self, exporter: Exporter, *, capacity: int = 50_000, patience: float = 5.0
    ) -> None:
        self._exporter = exporter
        self._capacity = capacity
        self._patience = patience
        self._queue: deque[Any] = deque()
        self._on_its_way: list[Any] = []
        self._written = self._dropped = 0
        self._error: str | None = None
        self._unreachable = False
        self._deadline: float | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._serve, name=f"to {exporter.to}", daemon=True)
        self._thread.start()

    def lacks(self, epoch: int) -> bool:
        """Return whether the exporter stores epochs but lacks this epoch."""
        return self._exporter.lacks(epoch)

    def offer(self, record: EpochRecord) -> None:
        """Queue the points of a record, and drop the oldest points if the queue is full."""
        points = self._exporter.points(record)
        with self._changed:
            self._queue.extend(points)
            while len(self._queue) > self._capacity:
                self._queue.popleft()
                self._dropped += 1
            self._changed.notify_all()

    def close(self, ending: Ending) -> ExportSummary:
        """Write the remaining points, for at most `patience` seconds, and return the summary.

        Points for an unreachable destination are retried only once.
        """
        with self._changed:
            self._deadline = time.monotonic() + self._patience
            self._changed.notify_all()
        self._thread.join(self._patience)
        with self._changed:
            left = len(self._queue) + len(self._on_its_way)
            self._queue.clear()
            summary = ExportSummary(
                self._exporter.to, self._written, self._dropped + left, self._error
            )
        try:
            self._exporter.close(ending)
        except Exception as error:  # noqa: BLE001 - an exporter never stops a run
            return ExportSummary(summary.to, summary.points, summary.dropped, _line(error))
        return summary

    def _serve(self) -> None:
        wait = _FIRST_WAIT
        while self._take_batch():
            last_try = self._deadline is not None and self._unreachable
            self._unreachable = not self._write_batch()
            if not self._unreachable:
                wait = _FIRST_WAIT
            elif last_try:
                return
            else:
                self._rest(wait)
                wait = min(2 * wait, _LONGEST_WAIT)

    def _take_batch(self) -> bool:
        """Wait for points, with heartbeats; return False if the run ended and no point is left."""
        while True:
            with self._changed:
                if not self._on_its_way:
                    size = min(len(self._queue), self._exporter.largest_batch)
                    self._on_its_way = [self._queue.popleft() for _ in range(size)]
                if self._on_its_way:
                    return True
                if self._deadline is not None:
                    return False
                self._changed.wait(_BEAT_SECONDS)
            self._beat()

    def _write_batch(self) -> bool:
        """Write the batch, or drop it if it is rejected; return False if it must be retried."""
        try:
            self._exporter.write(self._on_its_way)
        except Unreachable as error:
            self._error = _line(error)
            return False
        except Exception as error:  # noqa: BLE001 - an exporter never stops a run
            self._settle(dropped=len(self._on_its_way))
            self._error = _line(error)
        else:
            self._settle(written=len(self._on_its_way))
        return True

    def _settle(self, *, written: int = 0, dropped: int = 0) -> None:
        with self._changed:
            self._written += written
            self._dropped += dropped
            self._on_its_way = []

    def _rest(self, seconds: float) -> None:
        """Wait before the next attempt, at most until the run ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._deadline is not None, seconds)
        self._beat()

    def _beat(self) -> None:
        try:
            self._exporter.beat()
        except OSError as error:
            self._error = _line(error)


def _line(error: Exception) -> str:
    """Return the first line of an error, truncated."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:300]
