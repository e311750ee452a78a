"""Results and dead letters as records of topics."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from evenkey.core.errors import RunError, text_of
from evenkey.kafka import ClientSettings
from evenkey.pipeline.runs.output.commits import RESULTS, epoch_name
from evenkey.pipeline.runs.output.sinks import Sink
from evenkey.spark.keys import quoted
from evenkey.spark.sessions import to_arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from evenkey.kafka import Address
    from evenkey.pipeline.options import KafkaOptions
    from evenkey.pipeline.runs.output.commits import Commit, Commits
    from evenkey.pipeline.runs.output.directory import RunDirectory
    from evenkey.pipeline.runs.output.epoch_files import EpochFiles
    from evenkey.pipeline.runs.output.parts import Part
    from evenkey.pipeline.runs.output.sinks import FileSink

_IDENTITY = ("window_start", "rank", "publication")
"""Columns that identify a result, besides its key; those of them that a result has."""
_CONTENT = ("line", "geometry", "reason")
"""Columns of a dead letter that do not say where it was."""

_OF_KAFKA = re.compile(r"org\.apache\.kafka\.common\.errors\.(\w+): (.*)")
_REMEDIES = {
    "RecordTooLargeException": "raise the topic's max.message.bytes, and max.request.size in "
    "kafka_config",
    "TopicAuthorizationException": "let the user write there",
}


class KafkaSink(Sink):
    """Writes an epoch's rows to files, and sends what its commit holds to topics.

    A record's value is the row as a JSON object, its key the JSON object of the columns that
    identify the row. An epoch that runs again sends its rows again: Kafka's sink in Spark is
    at least once. Since rows come from the committed files, whichever process computed them, a row
    that is repeated is an identical one, and `read_results` drops it.

    Parameters
    ----------
    files
        Where the rows go first.
    address
        Where the results go.
    letters
        Topic of the dead letters, at the same servers.
    settings
        Of the client that writes.
    dead_letters
        Where the tasks of an epoch leave them.
    keys
        Columns of the results' key.
    """

    keeps_files = True

    def __init__(
        self,
        files: FileSink,
        address: Address,
        letters: str,
        settings: ClientSettings,
        dead_letters: EpochFiles,
        *,
        keys: Sequence[str] = ("key",),
    ) -> None:
        self._identity = {*_IDENTITY, *keys}
        self._files = files
        self._servers = address.servers
        self.topic = address.topic
        self._letters = letters
        self._settings = settings
        self._dead_letters = dead_letters

    def write(self, results: DataFrame, epoch: int) -> Sequence[tuple[Part, str]]:
        """Write the epoch's rows to files."""
        return self._files.write(results, epoch)

    def committed(self, results: DataFrame, epoch: int) -> None:
        """Send the epoch's results, then the dead letters that its tasks left."""
        commits = self._files.commits
        commit = commits.read(epoch_name(epoch))
        spark, schema = results.sparkSession, results.schema
        if commit is not None and commit.of(RESULTS):
            count = len(commit.of(RESULTS))
            task = _ReadTask(commits, commit, schema)
            rows = spark.range(0, count, 1, count).mapInArrow(task, schema)
            by = [name for name in schema.names if name in self._identity]
            self._write(rows, by, self.topic)
        rejected = self._dead_letters.read(self._dead_letters.DEAD_LETTERS, [epoch])
        if rejected is not None:
            letters = spark.createDataFrame(rejected)
            places = [name for name in letters.columns if name not in _CONTENT]
            self._write(letters, places, self._letters)

    def _write(self, rows: DataFrame, by: list[str], topic: str) -> None:
        parts = {"key": by, "value": rows.columns}
        records = rows.select(
            *(F.to_json(F.struct(*map(quoted, names))).alias(part) for part, names in parts.items())
        )
        writer = (
            records.write.format("kafka")
            .options(**self._settings.for_spark())
            .option("kafka.bootstrap.servers", self._servers)
            .option("topic", topic)
        )
        try:
            writer.save()
        except Exception as error:
            reasons = _OF_KAFKA.findall(text_of(error))
            if not reasons:
                raise
            kind, reason = reasons[-1]
            remedy = _REMEDIES.get(kind, "correct that")
            message = (
                f"topic {topic} rejected a record ({kind}: {reason.strip()}): {remedy}, and "
                "give the same command again: it goes on where this run stopped"
            )
            raise RunError(message) from error


def passed_on(
    files: FileSink, config: KafkaOptions, directory: RunDirectory, keys: Sequence[str] = ("key",)
) -> Sink:
    """Have what lies in files sent to a topic too, where one is named.

    Parameters
    ----------
    files
        Of the results.
    config
        Names the topic, or does not.
    directory
        Of the run, with the dead letters.
    keys
        As for `KafkaSink`.
    """
    address = config.sink_address
    if address is None:
        return files
    letters = config.resolved_dead_letters_topic(address.topic)
    settings = ClientSettings.read(config.kafka_config)
    return KafkaSink(files, address, letters, settings, directory.dead_letters, keys=keys)


class _ReadTask:
    """Reads the parts of a commit, by their place in it."""

    def __init__(self, commits: Commits, commit: Commit, schema: StructType) -> None:
        self._commits = commits
        self._commit = commit
        self._schema = schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = to_arrow_schema(self._schema, timezone="UTC")
        parts = self._commit.of(RESULTS)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                content = self._commits.content(self._commit, parts[number])
                rows = pq.ParquetFile(pa.BufferReader(content)).read()
                yield from rows.cast(schema).to_batches()
