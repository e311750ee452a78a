"""Which records of which partitions a run reads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkey.core.errors import ConfigurationError, RunError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from evenkey.kafka.admin import Admin, Offsets
    from evenkey.kafka.topic_address import Address

_SPARKS_WORDS = {-2: "earliest", -1: "latest"}


@dataclass(frozen=True)
class OffsetRange:
    """From which record up to which, exclusive.

    Parameters
    ----------
    start
        The first record of each partition that is read.
    end
        Behind the last record of each partition; None for a run that follows its topics.
    """

    start: Offsets
    end: Offsets | None

    @property
    def span(self) -> int | None:
        """Offsets between start and end; None for a run that follows its topics.

        Records are often fewer: transactions take offsets for their markers and for records that
        were aborted, and compaction leaves gaps. So this bounds an epoch, and counts nothing.
        """
        return None if self.end is None else self._passed(self.end)

    def share(self, reached: Offsets) -> float | None:
        """Give the share of the offsets that a query has passed, at most 1; None where it follows.

        Parameters
        ----------
        reached
            Behind the last record of each partition that it has read.
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
        """How many partitions there were at the start."""
        return sum(map(len, self.start.values()))

    def reached(self, ends: Offsets) -> bool:
        """Whether a query that has read up to offsets has read all of the range."""
        return self.end is not None and all(
            ends.get(topic, {}).get(partition, 0) >= end
            for topic, partitions in self.end.items()
            for partition, end in partitions.items()
            if end > self.start[topic][partition]
        )

    @classmethod
    def find(cls, admin: Admin, address: Address, starting: str, *, follow: bool) -> Self:
        """Ask the broker from where to where its topics reach now.

        The end lies behind all records that were sent, those of open transactions included: a run
        that reads only what is committed waits for these to end.

        Parameters
        ----------
        starting
            ``earliest``, ``latest``, or JSON as Spark's ``startingOffsets``: ``{"topic": {"0":
            23, "1": -2}}``, where -2 is the earliest and -1 the latest; partitions left out
            begin at the earliest.
        follow
            Whether the run goes on past the records that are there now.

        Raises
        ------
        ConfigurationError
            The broker does not answer, there is no such topic, or `starting` names another
            partition or a record that is not there.
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
            They are not of that form.

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
        """Give the offsets of topics among the ends of a query's sources, as Spark writes them.

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
        """Write it down."""
        return json.dumps({"start": self.start, "end": self.end}, indent=2, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises
        ------
        RunError
            It is something else.
        """
        try:
            stated = json.loads(text)
            start = _numbered(stated["start"])
            return cls(start, None if stated["end"] is None else _numbered(stated["end"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"the offsets of the run cannot be read ({error}): choose another output"
            raise RunError(message) from error


def with_new_partitions(admin: Admin, address: Address, start: Offsets) -> Offsets:
    """Add the partitions that topics have got since a run began: these begin at the earliest.

    Spark takes them up by itself once it has begun an epoch; before that it asks for all of them.

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
                message = f"starting_offsets: there is no partition {partition} of topic {topic!r}"
                raise ConfigurationError(message)
            words = {"earliest": earliest, "latest": latest}
            word = _SPARKS_WORDS.get(offset)
            start[topic][partition] = words[word][topic][partition] if word else offset
            first, behind = earliest[topic][partition], latest[topic][partition]
            if not first <= start[topic][partition] <= behind:
                message = (
                    f"starting_offsets: partition {partition} of topic {topic!r} has offsets "
                    f"{first} to {behind}, and {offset} is none of them: pass one of these, or -2 "
                    "for the earliest"
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
