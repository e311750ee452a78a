"""Which records of which partitions a run reads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkey.errors import ConfigurationError, RunError
from evenkey.kafka.connector import admin_client

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from pyspark.sql import SparkSession

    from evenkey.kafka.address import Address
    from evenkey.kafka.client import ClientSettings

Offsets = dict[str, dict[int, int]]
"""Topic to partition to the offset of a record."""

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
    def total(self) -> int | None:
        """Offsets between start and end; records, but for gaps that compaction leaves."""
        if self.end is None:
            return None
        return sum(
            max(0, end - self.start[topic][partition])
            for topic, partitions in self.end.items()
            for partition, end in partitions.items()
        )

    @property
    def partitions(self) -> int:
        """How many partitions there were at the start."""
        return sum(map(len, self.start.values()))

    def reached(self, stated: Mapping[str, Mapping[str, int]]) -> bool:
        """Whether a query that has come to offsets, as Spark reports them, has read it all."""
        return self.end is not None and all(
            stated.get(topic, {}).get(str(partition), 0) >= end
            for topic, partitions in self.end.items()
            for partition, end in partitions.items()
            if end > self.start[topic][partition]
        )

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


def find_range(
    spark: SparkSession,
    address: Address,
    settings: ClientSettings,
    starting: str,
    *,
    follow: bool,
) -> OffsetRange:
    """Ask the broker from where to where its topics reach now.

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
        The broker does not answer, there is no such topic, or `starting` names another.
    """
    with admin_client(spark, address, settings) as client:
        java: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark's way to the JVM
        partitions = _partitions(java, client, address)
        specs = java.org.apache.kafka.clients.admin.OffsetSpec
        earliest = _offsets(java, client, partitions, specs.earliest())
        latest = _offsets(java, client, partitions, specs.latest())
    start = {"earliest": earliest, "latest": latest}.get(starting)
    if start is None:
        start = _chosen(starting, earliest, latest)
    return OffsetRange(start, None if follow else latest)


def with_new_partitions(
    spark: SparkSession, address: Address, settings: ClientSettings, start: Offsets
) -> Offsets:
    """Add the partitions that topics have got since a run began: these begin at the earliest.

    Spark takes them up by itself once it has begun an epoch; before that it asks for all of them.

    Raises
    ------
    ConfigurationError
        The broker does not answer, or there is no such topic.
    """
    earliest = {word: offset for offset, word in _SPARKS_WORDS.items()}["earliest"]
    with admin_client(spark, address, settings) as client:
        java: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark's way to the JVM
        return {
            topic: {**dict.fromkeys(numbers, earliest), **start.get(topic, {})}
            for topic, numbers in _partitions(java, client, address).items()
        }


def parse_offsets(text: str) -> Offsets:
    """Read offsets in Spark's JSON.

    Raises
    ------
    ConfigurationError
        They are not of that form.

    Examples
    --------
    >>> parse_offsets('{"clicks": {"0": 23, "1": -2}}')
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


def _chosen(starting: str, earliest: Offsets, latest: Offsets) -> Offsets:
    stated = parse_offsets(starting)
    start = {topic: dict(partitions) for topic, partitions in earliest.items()}
    for topic, partitions in stated.items():
        for partition, offset in partitions.items():
            if partition not in start.get(topic, {}):
                message = f"starting_offsets: there is no partition {partition} of topic {topic!r}"
                raise ConfigurationError(message)
            words = {"earliest": earliest, "latest": latest}
            word = _SPARKS_WORDS.get(offset)
            start[topic][partition] = words[word][topic][partition] if word else offset
    return start


def _numbered(stated: dict[str, dict[str, int]]) -> Offsets:
    return {
        topic: {int(partition): int(offset) for partition, offset in partitions.items()}
        for topic, partitions in stated.items()
    }


def _partitions(java: Any, client: Any, address: Address) -> dict[str, list[int]]:
    described = client.describeTopics(_java_list(java, address.topics)).allTopicNames().get()
    return {
        topic: [each.partition() for each in described.get(topic).partitions()]
        for topic in address.topics
    }


def _offsets(java: Any, client: Any, partitions: dict[str, list[int]], spec: Any) -> Offsets:
    asked = java.java.util.HashMap()
    of = java.org.apache.kafka.common.TopicPartition
    places = {(t, p): of(t, p) for t, numbers in partitions.items() for p in numbers}
    for place in places.values():
        asked.put(place, spec)
    stated = client.listOffsets(asked).all().get()
    found: Offsets = {topic: {} for topic in partitions}
    for (topic, partition), place in places.items():
        found[topic][partition] = stated.get(place).offset()
    return found


def _java_list(java: Any, values: tuple[str, ...]) -> Any:
    converted = java.java.util.ArrayList()
    for value in values:
        converted.add(value)
    return converted
