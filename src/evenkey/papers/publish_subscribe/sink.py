"""Sink of a join pipeline: one row a publication, with the subscriptions that it matched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkey.joins import PairsDigest
from evenkey.kafka import ClientSettings
from evenkey.pipeline.runs import FileSink, KafkaSink

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from evenkey.papers.publish_subscribe.config import JoinConfig
    from evenkey.pipeline.runs import RunDirectory, Sink


def sink_of(config: JoinConfig, directory: RunDirectory) -> Sink:
    """The sink of a run: files, and from these a topic where one is named."""
    files = FileSink(directory.commits, "parquet")
    if config.sink_address is None:
        return files
    letters = config.letters_topic(config.sink_address.topic)
    settings = ClientSettings.read(config.kafka_config)
    return KafkaSink(files, config.sink_address, letters, settings, directory.dead_letters)


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
