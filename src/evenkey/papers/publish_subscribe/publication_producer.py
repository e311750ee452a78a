"""Send generated publications to a Kafka topic."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import numpy as np

from evenkey.joins import leaves_of
from evenkey.kafka import ClientSettings, Record, produce
from evenkey.papers.publish_subscribe.join_inputs import subscriptions_of
from evenkey.papers.publish_subscribe.publishing import publications_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenkey.kafka import Address, Produced
    from evenkey.papers.publish_subscribe.config import JoinConfig
    from evenkey.papers.publish_subscribe.places import Publications

_BATCH = 1 << 14


def produce_publications(
    config: JoinConfig,
    address: Address,
    *,
    partitions: int = 32,
    live: bool = False,
    on_progress: Callable[[int], None] | None = None,
) -> Produced:
    """Send to a topic the publications that a run of this configuration would generate.

    Parameters
    ----------
    config
        Configuration of the run. Only the options of the stream and the static side are used, and
        the numbers of partitions and workers, on which the skew depends.
    address
        Kafka servers, and one topic.
    partitions
        Number of partitions of the topic, if it does not exist yet.
    live
        Whether each publication is sent when the clock reaches its event time. Otherwise all
        publications are sent as fast as possible, and the last event time is now.
    on_progress
        Function that is called with the number of publications so far.

    Raises
    ------
    ConfigurationError
        No broker answers, or a file of polygons or positions cannot be read.
    RunError
        The broker did not accept a record.

    Notes
    -----
    The key of a record is the number of the publication. The value is a JSON object with
    ``publication`` and ``geometry``. The geometry is well-known binary in hexadecimal, so
    coordinates lose no digit.

    Examples
    --------
    >>> from evenkey.papers.publish_subscribe import JoinConfig
    >>> from evenkey.kafka import Address
    >>> address = Address.parse("127.0.0.1:9092/publications")
    >>> produce_publications(JoinConfig(publications=2000), address).messages  # doctest: +SKIP
    """
    encoded = subscriptions_of(config)["geometry"].to_numpy()
    leaves = leaves_of(encoded, config.partitioner, config.partitions_or_default)
    return produce(
        _records(publications_of(config, leaves), config.publications, config.seconds),
        address,
        first=time.time() - (0 if live else config.seconds),
        live=live,
        partitions=partitions,
        settings=ClientSettings.read(config.kafka_config),
        on_progress=on_progress,
    )


def _records(publications: Publications, count: int, seconds: float) -> Iterator[Record]:
    for begin in range(0, count, _BATCH):
        numbers = np.arange(begin, min(count, begin + _BATCH))
        encoded = publications.make(numbers)["geometry"].to_pylist()
        for number, geometry in zip(numbers.tolist(), encoded, strict=True):
            value = json.dumps({"publication": number, "geometry": geometry.hex()})
            yield Record(str(number).encode(), value.encode(), number * seconds / count)
