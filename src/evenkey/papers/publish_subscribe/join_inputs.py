"""Make both sides of the join from a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import shapely

from evenkey.core.errors import ConfigurationError
from evenkey.joins import vet
from evenkey.kafka import OffsetRange
from evenkey.papers.publish_subscribe.places import draw_subscriptions, read_collisions
from evenkey.papers.publish_subscribe.publication_topics import (
    publications_of_topics,
    stream_of_topics,
)
from evenkey.papers.publish_subscribe.publishing import (
    PublicationsReading,
    atlas_of,
    keep_publications,
)
from evenkey.pipeline.runs import stream_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from evenkey.papers.publish_subscribe.config import JoinConfig
    from evenkey.pipeline.runs import RunDirectory

_READ = pa.schema([("publication", pa.int64()), ("geometry", pa.binary())])


class PublicationInput(NamedTuple):
    """The stream of a run.

    Parameters
    ----------
    stream
        Columns ``publication``, ``geometry`` and, except for files, ``time``.
    expected
        Number of publications. None: unknown, because some offsets of topics have no record.
    timed
        Whether publications have event times.
    offsets
        Range of offsets to read from topics. None: the input is not a topic.
    """

    stream: DataFrame
    expected: int | None
    timed: bool
    offsets: OffsetRange | None = None


def subscriptions_of(config: JoinConfig) -> pa.Table:
    """Draw the subscriptions of a configuration."""
    return draw_subscriptions(atlas_of(config), config.subscriptions, config.seed)


def publication_input(
    spark: SparkSession,
    config: JoinConfig,
    directory: RunDirectory,
    partitioning: Mapping[str, Any],
) -> PublicationInput:
    """Open the stream: generated publications, files, or topics.

    Parameters
    ----------
    partitioning
        Partitioning of the static side. Generated publications are skewed towards some of its
        partitions.

    Raises
    ------
    ConfigurationError
        There are no files, or they lack a column; or the topics cannot be read.
    """
    if config.input is not None:
        return _read(spark, config, config.input)
    if config.source_address is not None:
        offsets = OffsetRange.read(directory.store, directory.OFFSETS)
        stream = stream_of_topics(spark, config, config.source_address, offsets)
        return PublicationInput(stream, None, timed=True, offsets=offsets)
    rate = config.publications / config.seconds
    if not directory.begun:
        keep_publications(config, partitioning, directory)
    reading = PublicationsReading(directory.store, config.publications, rate)
    stream = stream_of(
        spark,
        reading,
        sources=config.sources,
        epoch_messages=config.epoch_publications,
        stop_file=directory.paused,
        arrival_rate=config.arrival_rate,
    )
    return PublicationInput(stream, config.publications, timed=True)


def check_publications(config: JoinConfig) -> None:
    """Check, before Spark starts, that the files of publications can be read.

    Raises
    ------
    ConfigurationError
        There are no files, they lack a column, or they have another format.
    """
    if config.input is not None:
        _files(config.input)
    if config.collisions is not None:
        read_collisions(config.collisions)


def _files(path: Path) -> ds.Dataset:
    try:
        files = ds.dataset(path, format="parquet")
    except (OSError, pa.ArrowInvalid) as error:
        first = str(error).partition("\n")[0]
        message = f"input {path} cannot be read ({first}): name a directory of Parquet files"
        raise ConfigurationError(message) from error
    missing = [name for name in _READ.names if name not in files.schema.names]
    if missing or not files.files:
        message = (
            f"input {path}: it needs Parquet files with columns {', '.join(_READ.names)}; "
            f"there are {len(files.files)} files with: {', '.join(files.schema.names)}"
        )
        raise ConfigurationError(message)
    return files


def _read(spark: SparkSession, config: JoinConfig, path: Path) -> PublicationInput:
    files = _files(path)
    stream = (
        spark.readStream.schema("publication bigint, geometry binary")
        .option("maxFilesPerTrigger", -(-len(files.files) // config.epochs))
        .parquet(str(path))
    )
    return PublicationInput(stream, files.count_rows(), timed=False)


def all_publications(
    spark: SparkSession, config: JoinConfig, directory: RunDirectory, source: PublicationInput
) -> pa.Table:
    """Return all publications except dead letters as one table, to verify the results."""
    if config.source_address is not None and source.offsets is not None:
        return _good(publications_of_topics(spark, config, config.source_address, source.offsets))
    if config.input is not None:
        return _good(ds.dataset(config.input, format="parquet").to_table(columns=_READ.names))
    reading = PublicationsReading(directory.store, config.publications, 1.0)
    return reading.publications.make(np.arange(config.publications))


def _good(publications: pa.Table) -> pa.Table:
    """Keep publications with a usable geometry, and repair invalid ones."""
    vetted = vet(publications["geometry"].to_numpy())
    encoded = pa.array(shapely.to_wkb(vetted.geometries), pa.binary())
    return publications.set_column(1, "geometry", encoded).filter(pa.array(vetted.good))
