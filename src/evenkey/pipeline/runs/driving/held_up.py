"""Find open transactions that block a run: until they end, the run reads no later records."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from evenkey.core.errors import EvenkeyError
from evenkey.pipeline.runs.driving.waiting import Awaited

if TYPE_CHECKING:
    from evenkey.kafka import Offsets
    from evenkey.pipeline.runs.input.run_topics import RunTopics

_LOOK_SECONDS = 5.0


class HeldUp:
    """Finds partitions in which an open transaction keeps a run from reading on.

    Parameters
    ----------
    topics
        The topics of the run.
    """

    def __init__(self, topics: RunTopics) -> None:
        self._topics = topics
        self._next = 0.0
        self._stood: dict[tuple[str, int], tuple[int, float]] = {}
        self._found: Awaited | None = None

    def __call__(self) -> Awaited | None:
        """Return the transaction that the run waits for; None if the run waits for none."""
        if time.monotonic() >= self._next:
            try:
                self._found = self._look()
            except EvenkeyError:
                self._found = None  # the query itself reports an unreachable broker
            self._next = time.monotonic() + _LOOK_SECONDS
        return self._found

    def _look(self) -> Awaited | None:
        topics, offsets = self._topics, self._topics.offsets
        if offsets is None:
            return None
        at = topics.read_up_to()
        counts = {topic: max(numbers, default=-1) + 1 for topic, numbers in at.items()}
        stable = topics.source.offsets(counts, "stable")
        latest = topics.source.offsets(counts, "latest")
        wanted = latest if offsets.end is None else offsets.end
        held = [
            (topic, number)
            for topic, numbers in at.items()
            for number, position in numbers.items()
            if stable[topic][number] < latest[topic][number]
            and stable[topic][number] <= position < wanted[topic].get(number, 0)
        ]
        self._stand(held, stable)
        if not self._stood:
            return None
        (topic, number), (offset, since) = min(self._stood.items(), key=lambda each: each[1][1])
        others = f", and {len(held) - 1} more partitions" if len(held) > 1 else ""
        return Awaited(
            "waiting for a transaction",
            f": {self._who(topic, number, since)} holds up topic {topic!r}, partition {number}, at "
            f"offset {offset}{others}: commit or abort the transaction; to read past it, choose a "
            "new output and isolation = 'read_uncommitted'",
        )

    def _stand(self, held: list[tuple[str, int]], stable: Offsets) -> None:
        """Record, for each blocked partition, the offset at which it is blocked, and since when."""
        now = time.time()
        before = self._stood
        self._stood = {}
        for place in held:
            offset = stable[place[0]][place[1]]
            stood = before.get(place)
            same = stood is not None and stood[0] == offset
            self._stood[place] = stood if stood is not None and same else (offset, now)

    def _who(self, topic: str, number: int, since: float) -> str:
        """Describe the oldest transaction in a partition, with its age."""
        found = self._topics.source.transactions(topic, number)
        if found and found[0].started is not None:
            age = max(0.0, time.time() - found[0].started)
            return f"transaction {found[0].name!r}, open for {age:.0f} s,"
        return f"a transaction, open for at least {time.time() - since:.0f} s,"
