"""See to it that topics can be read and written before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkey.kafka import ClientSettings, admin_client, check_loaded, find_range

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from evenkey.options import KafkaOptions
    from evenkey.runs.directory import RunDirectory


def open_output(spark: SparkSession, options: KafkaOptions) -> None:
    """Make the topics of results and dead letters that are not there, as the broker's defaults say.

    A producer would wait a minute for a topic that nobody makes.

    Parameters
    ----------
    spark
        Has Kafka's client.
    options
        Name the topics; where they name none, nothing is done.

    Raises
    ------
    ConfigurationError
        Spark has no connector, no broker answers, or it makes no topics for us.
    """
    address = options.sink_address
    if address is None:
        return
    check_loaded(spark)
    settings = ClientSettings.read(options.kafka_config)
    with admin_client(spark, address, settings) as client:
        java: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark's way to the JVM
        by_default = java.java.util.Optional.empty()
        there = client.listTopics().names().get()
        missing = java.java.util.ArrayList()
        for name in (address.topic, options.letters_topic(address.topic)):
            if not there.contains(name):
                admin = java.org.apache.kafka.clients.admin
                missing.add(admin.NewTopic(name, by_default, by_default))
        client.createTopics(missing).all().get()


def find_offsets(spark: SparkSession, options: KafkaOptions, directory: RunDirectory) -> None:
    """Write down from where to where topics are read, unless the run has begun already.

    Raises
    ------
    ConfigurationError
        The topics cannot be read, or Spark lacks the connector.
    """
    address = options.source_address
    if address is None:
        return
    check_loaded(spark)
    if directory.begun:
        return
    settings = ClientSettings.read(options.kafka_config)
    offsets = find_range(spark, address, settings, options.starting_offsets, follow=options.follow)
    directory.keep(directory.OFFSETS, offsets.to_json().encode())
