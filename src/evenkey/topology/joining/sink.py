"""Sink of a join pipeline: one row a publication, with the subscriptions that it matched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkey.joins.pairs import PairsDigest
from evenkey.topology.kafka.client import ClientSettings
from evenkey.topology.kafka.sink import KafkaSink
from evenkey.topology.sinks import FileSink, Sink

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from evenkey.topology.joining.config import JoinConfig
    from evenkey.topology.run_directory import RunDirectory

__all__ = ["digest_of", "sink_of"]


def sink_of(config: JoinConfig, directory: RunDirectory) -> Sink:
    """The sink of a run: files, and from these a topic where one is named."""
    files = FileSink(directory.results, "parquet")
    if config.sink_address is None:
        return files
    letters = config.letters_topic(config.sink_address.topic)
    settings = ClientSettings.read(config.kafka_config)
    topic = KafkaSink(config.sink_address, letters, settings, directory.dead_letters)
    return _FilesThenTopic(files, topic)


class _FilesThenTopic(Sink):
    """Writes an epoch's rows to files, then sends what lies there to a topic.

    So the join runs once an epoch, and the figures of a run are of its own rows, whatever
    else the topic holds.
    """

    def __init__(self, files: FileSink, topic: KafkaSink) -> None:
        self._files = files
        self._topic = topic

    def write(self, results: DataFrame, epoch: int) -> None:
        """Write the epoch's rows twice."""
        self._files.write(results, epoch)
        written = self._files.epoch_directory(epoch)
        reader = results.sparkSession.read.schema(results.schema)
        kept = reader.parquet(str(written)) if written.exists() else results.limit(0)
        self._topic.write(kept, epoch)


def digest_of(tables: Iterable[pa.Table]) -> PairsDigest:
    """Digest of all pairs of tables of matches."""
    digest = PairsDigest()
    for table in tables:
        for batch in table.to_batches():
            lists = batch["subscriptions"]
            lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
            numbers = np.repeat(batch["publication"].to_numpy(), lengths)
            digest.add(numbers, lists.flatten().to_numpy())
    return digest
