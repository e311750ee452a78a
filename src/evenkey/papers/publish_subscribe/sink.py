"""The sink of a join pipeline: one row per publication, with the subscriptions that it matched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkey.joins import PairsDigest
from evenkey.pipeline.runs import FileSink, passed_on

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from evenkey.papers.publish_subscribe.config import JoinConfig
    from evenkey.pipeline.runs import RunDirectory, Sink


def sink_of(config: JoinConfig, directory: RunDirectory) -> Sink:
    """Return the sink of a run: files; if the run names a topic, rows also go to this topic."""
    return passed_on(FileSink(directory.commits, "parquet"), config, directory)


def digest_of(tables: Iterable[pa.Table]) -> PairsDigest:
    """Compute the digest of all pairs in tables of matches."""
    digest = PairsDigest()
    for table in tables:
        for batch in table.to_batches():
            lists = batch["subscriptions"]
            lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
            numbers = np.repeat(batch["publication"].to_numpy(), lengths)
            digest.add(numbers, lists.flatten().to_numpy())
    return digest
