"""The range of records that a run reads from each partition."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkey.core.errors import ConfigurationError, RunError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from evenkey.core.stores import Store
    from evenkey.kafka.admin import Admin, Offsets
    from evenkey.kafka.topic_address import Address

_SPARKS_WORDS = {-2: "earliest", -1: "latest"}


@dataclass(frozen=True)
class OffsetRange:
    """A range of offsets per partition.

    Parameters
    ----------
    start
        Offset of the first record of each partition.
    end
        Offset at which each partition ends, exclusive; None: the run has no end and also reads all
        later records.
    """

    start: Offsets
    end: Offsets | None

    @property
    def span(self) -> int | None:
        """Number of offsets between start and end; None: the run has no end.

        A range often has fewer records than offsets: transactions use offsets for their markers and
        for aborted records, and compaction leaves gaps. So the number of offsets is only an upper
        bound of the number of records.
        """
        return None if self.end is None else self._passed(self.end)

    def share(self, reached: Offsets) -> float | None:
        """Return the share of the range that a query has read; None if the run has no end.

        Parameters
        ----------
        reached
            For each partition, the next offset that the query will read.
        """
        if self.end is None:
            return None
        span = self._passed(self.end)
        return self._passed(reached) / span if span else 1.0

    def _passed(self, reached: Offsets) -> int:
        return sum(
            max(0, min(end, reached.get(topic, {}).get(number, 0)) - self.start[topic][number])
            for topic, ends in (self.end or {}).items()
            for number, end in ends.items()
        )

    @property
    def partitions(self) -> int:
        """Number of partitions at the start."""
        return sum(map(len, self.start.values()))

    def reached(self, ends: Offsets) -> bool:
        """Return whether a query that has read up to `ends` has read the whole range."""
        return self.end is not None and all(
            ends.get(topic, {}).get(partition, 0) >= end
            for topic, partitions in self.end.items()
            for partition, end in partitions.items()
            if end > self.start[topic][partition]
        )

    @classmethod
    def find(cls, admin: Admin, address: Address, starting: str, *, follow: bool) -> Self:
        """Request the current range of offsets of the topics from the broker.

        The range ends after all records that were sent, including records of open transactions. So
        a run that reads only committed records waits until these transactions end.

        Parameters
        ----------
        starting
            ``earliest``, ``latest``, or JSON as in Spark's ``startingOffsets``: ``{"topic": {"0":
            23, "1": -2}}``, where -2 is the earliest offset and -1 is the latest offset. Partitions
            that are left out begin at the earliest offset.
        follow
            Whether the run has no end, so that it continues after the records that exist now.

        Raises
        ------
        ConfigurationError
            The broker does not answer, there is no such topic, or `starting` names a partition or
            a record that does not exist.
        """
        partitions = _partitions(admin, address)
        earliest = admin.offsets(partitions, "earliest")
        latest = admin.offsets(partitions, "latest")
        start = {"earliest": earliest, "latest": latest}.get(starting)
        if start is None:
            start = _chosen(starting, earliest, latest)
        return cls(start, None if follow else latest)

    @staticmethod
    def parse_start(text: str) -> Offsets:
        """Read offsets in Spark's JSON.

        Raises
        ------
        ConfigurationError
            The text does not have this form.

        Examples
        --------
        >>> OffsetRange.parse_start('{"clicks": {"0": 23, "1": -2}}')
        {'clicks': {0: 23, 1: -2}}
        """
        try:
            return _numbered(json.loads(text))
        except (ValueError, TypeError, AttributeError) as error:
            message = (
                f"starting_offsets = {text!r}: must be earliest, latest or JSON such as "
                '{"topic": {"0": 23, "1": -2}}'
            )
            raise ConfigurationError(message) from error

    @staticmethod
    def ends_of(ends: Iterable[Any]) -> Offsets:
        """Return the offsets of topics among the end offsets that Spark reports for a query.

        Examples
        --------
        >>> OffsetRange.ends_of([{"clicks": {"0": 23}}, {"closed": 1}, None])
        {'clicks': {0: 23}}
        """
        found: Offsets = {}
        for each in ends:
            if isinstance(each, dict) and all(isinstance(value, dict) for value in each.values()):
                found |= _numbered(each)
        return found

    def to_json(self) -> str:
        """Convert to JSON."""
        return json.dumps({"start": self.start, "end": self.end}, indent=2, sort_keys=True)

    @classmethod
    def read(cls, store: Store, name: str) -> Self:
        """Read the range that a run stored at its start.

        Raises
        ------
        RunError
            The object cannot be read, or is not one that a run stored.
        """
        try:
            return cls.from_json(store.read(name).decode())
        except (OSError, UnicodeDecodeError) as error:
            message = f"{store.path(name)} cannot be read ({error}): choose another output"
            raise RunError(message) from error

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a range that `to_json` wrote.

        Raises
        ------
        RunError
            The text is not JSON that `to_json` wrote.
        """
        try:
            stated = json.loads(text)
            start = _numbered(stated["start"])
            return cls(start, None if stated["end"] is None else _numbered(stated["end"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"the offsets of the run cannot be read ({error}): choose another output"
            raise RunError(message) from error


def with_new_partitions(admin: Admin, address: Address, start: Offsets) -> Offsets:
    """Add the partitions that topics got since a run began, each with its earliest offset.

    After the first epoch, Spark adds such partitions itself. Before the first epoch, Spark requires
    an offset for each partition.

    Raises
    ------
    ConfigurationError
        The broker does not answer, or there is no such topic.
    """
    earliest = {word: offset for offset, word in _SPARKS_WORDS.items()}["earliest"]
    return {
        topic: {**dict.fromkeys(range(count), earliest), **start.get(topic, {})}
        for topic, count in _partitions(admin, address).items()
    }


def _chosen(starting: str, earliest: Offsets, latest: Offsets) -> Offsets:
    stated = OffsetRange.parse_start(starting)
    start = {topic: dict(partitions) for topic, partitions in earliest.items()}
    for topic, partitions in stated.items():
        for partition, offset in partitions.items():
            if partition not in start.get(topic, {}):
                message = f"starting_offsets: topic {topic!r} has no partition {partition}"
                raise ConfigurationError(message)
            words = {"earliest": earliest, "latest": latest}
            word = _SPARKS_WORDS.get(offset)
            start[topic][partition] = words[word][topic][partition] if word else offset
            first, end = earliest[topic][partition], latest[topic][partition]
            if not first <= start[topic][partition] <= end:
                message = (
                    f"starting_offsets: partition {partition} of topic {topic!r} has offsets "
                    f"{first} to {end}, not {offset}: pass one of these, or -2 for the earliest"
                )
                raise ConfigurationError(message)
    return start


def _numbered(stated: dict[str, dict[str, int]]) -> Offsets:
    return {
        topic: {int(partition): int(offset) for partition, offset in partitions.items()}
        for topic, partitions in stated.items()
    }


def _partitions(admin: Admin, address: Address) -> dict[str, int]:
    found = admin.existing_topics(address.topics)
    return {topic: state.partitions for topic, state in found.items()}
