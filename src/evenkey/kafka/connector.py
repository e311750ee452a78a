"""Spark's Kafka connector: where its jars are, and whether a session has it."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from py4j.protocol import Py4JJavaError

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JARS = Path("build", "kafka", "connector")
_CHECKOUT = Path(__file__).resolve().parents[3]
_MEND = (
    "run `make setup-kafka` in a checkout, or name a directory with the jars of "
    "spark-sql-kafka-0-10 (and spark-avro) in EVENKEY_KAFKA_JARS"
)


def connector_settings() -> dict[str, str]:
    """Give the Spark settings that load the connector: none where its jars are not found.

    They are looked for in ``EVENKEY_KAFKA_JARS``, else where `make setup-kafka` puts them in the
    checkout that holds this package.

    Raises
    ------
    ConfigurationError
        ``EVENKEY_KAFKA_JARS`` names no directory with jars.
    """
    named = os.environ.get("EVENKEY_KAFKA_JARS")
    directory = Path(named) if named else _CHECKOUT / _JARS
    jars = sorted(directory.glob("*.jar"))
    if jars:
        return {
            "spark.jars": ",".join(map(str, jars)),
            # Spark hides what these match in plans, logs and its event log.
            "spark.redaction.regex": _HIDDEN,
            "spark.sql.redaction.options.regex": _HIDDEN,
        }
    if named:
        message = f"EVENKEY_KAFKA_JARS = {named!r}: holds no jars; {_MEND}"
        raise ConfigurationError(message)
    return {}


_HIDDEN = r"(?i)secret|password|token|jaas|access[.]?key|ssl[.].*key|url"


def check_findable() -> None:
    """Make sure, before Spark starts, that the connector's jars may be found.

    Where a session runs already, or Spark's own configuration may name jars, it is left to
    `check_loaded`.

    Raises
    ------
    ConfigurationError
        They are nowhere; the message names the mend.
    """
    if not (_session_runs() or connector_settings() or _named_to_spark()):
        message = f"Spark has no {KAFKA.name}: {_MEND}"
        raise ConfigurationError(message)


def _session_runs() -> bool:
    pyspark = sys.modules.get("pyspark")
    return pyspark is not None and pyspark.SparkContext._active_spark_context is not None  # noqa: SLF001


def _named_to_spark() -> bool:
    """Whether Spark may know of the jars by itself: among its own, or by its configuration."""
    spec = find_spec("pyspark")
    places = [] if spec is None else [*(spec.submodule_search_locations or ())]
    home = Path(os.environ.get("SPARK_HOME") or next(iter(places), "."))
    if any(home.glob("jars/spark-sql-kafka-0-10*.jar")):
        return True
    defaults = Path(os.environ.get("SPARK_CONF_DIR") or home / "conf") / "spark-defaults.conf"
    arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell")
    return defaults.exists() or arguments.strip() != "pyspark-shell"


class Module(NamedTuple):
    """A part of Spark that its wheel lacks: what it is called, and a class of it."""

    name: str
    provider: str


KAFKA = Module("Kafka connector", "org.apache.spark.sql.kafka010.KafkaSourceProvider")
_AVRO = Module("module for Avro", "org.apache.spark.sql.avro.AvroDataToCatalyst")


def check_loaded(spark: SparkSession, *, avro: bool = False) -> None:
    """Make sure that a session has the connector, or the module for Avro.

    Raises
    ------
    ConfigurationError
        It does not; the message names the mend.
    """
    module = _AVRO if avro else KAFKA
    loader: Any = _jvm(spark).Thread.currentThread().getContextClassLoader()
    try:
        loader.loadClass(module.provider)
    except Py4JJavaError:
        message = (
            f"Spark has no {module.name}: {_MEND}; a session that runs already must have been "
            "started with them (spark.jars)"
        )
        raise ConfigurationError(message) from None


def _jvm(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm  # noqa: SLF001 - PySpark's way to the JVM
