"""Results and dead letters as records of topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey.topology.sinks import Sink
from evenkey.topology.splitting import DEAD_LETTERS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from evenkey.topology.epoch_files import EpochFiles
    from evenkey.topology.kafka.address import Address
    from evenkey.topology.kafka.client import ClientSettings

__all__ = ["KafkaSink"]

_IDENTITY = ("window_start", "key", "rank", "publication")
"""Columns that identify a result; those of them that a result has."""
_CONTENT = ("line", "geometry", "reason")
"""Columns of a dead letter that do not say where it was."""


class KafkaSink(Sink):
    """Writes each result as one record, and each dead letter as one.

    A record's value is the row as a JSON object, its key the JSON object of the columns that
    identify the row. An epoch that runs again writes its rows again: Kafka's sink in Spark is
    at least once. A row that is repeated is an identical one, and `read_results` drops it.

    Parameters
    ----------
    address
        Where the results go.
    letters
        Topic of the dead letters, at the same servers.
    settings
        Of the client that writes.
    dead_letters
        Where the tasks of an epoch leave them.
    """

    def __init__(
        self,
        address: Address,
        letters: str,
        settings: ClientSettings,
        dead_letters: EpochFiles,
    ) -> None:
        self._servers = address.servers
        self.topic = address.topic
        self._letters = letters
        self._settings = settings
        self._dead_letters = dead_letters

    def write(self, results: DataFrame, epoch: int) -> None:
        """Write the epoch's results, then the dead letters that its tasks left."""
        self._write(results, [name for name in _IDENTITY if name in results.columns], self.topic)
        rejected = self._dead_letters.read(DEAD_LETTERS, [epoch])
        if rejected is not None:
            letters = results.sparkSession.createDataFrame(rejected)
            places = [name for name in letters.columns if name not in _CONTENT]
            self._write(letters, places, self._letters)

    def _write(self, rows: DataFrame, by: list[str], topic: str) -> None:
        records = rows.select(
            F.to_json(F.struct(*by)).alias("key"), F.to_json(F.struct(*rows.columns)).alias("value")
        )
        (
            records.write.format("kafka")
            .options(**self._settings.for_spark())
            .option("kafka.bootstrap.servers", self._servers)
            .option("topic", topic)
            .save()
        )
