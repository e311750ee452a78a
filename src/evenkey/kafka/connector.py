"""Find the jars of Spark's Kafka connector, and check that a session has loaded them."""

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
_FIX = (
    "run `make setup-kafka` in a checkout, or set EVENKEY_KAFKA_JARS to a directory with the jars "
    "of spark-sql-kafka-0-10 (and spark-avro)"
)


def connector_settings() -> dict[str, str]:
    """Return the Spark settings that load the connector, if its jars are found, and hide secrets.

    The function searches for the jars in the directory that ``EVENKEY_KAFKA_JARS`` names. By
    default, it searches in the directory that `make setup-kafka` fills in the checkout of this
    package.

    Raises
    ------
    ConfigurationError
        ``EVENKEY_KAFKA_JARS`` is not a directory with jars.
    """
    # Spark redacts matching settings and options in plans, logs and its event log. It may also have
    # the connector by its own configuration.
    hidden = {"spark.redaction.regex": _HIDDEN, "spark.sql.redaction.options.regex": _HIDDEN}
    jars = _jars()
    return {"spark.jars": ",".join(map(str, jars)), **hidden} if jars else hidden


def _jars() -> list[Path]:
    named = os.environ.get("EVENKEY_KAFKA_JARS")
    directory = Path(named) if named else _CHECKOUT / _JARS
    jars = sorted(directory.glob("*.jar"))
    if named and not jars:
        message = f"EVENKEY_KAFKA_JARS = {named!r}: it has no jars; {_FIX}"
        raise ConfigurationError(message)
    return jars


_HIDDEN = r"(?i)secret|password|token|jaas|access[.]?key|ssl[.].*key|url"


def check_findable() -> None:
    """Check, before Spark starts, that the connector's jars can be found.

    Nothing is checked in two cases: a session is already running, or Spark has a configuration that
    could name the jars. In these cases `check_loaded` checks the session later.

    Raises
    ------
    ConfigurationError
        No jars are found; the message says how to get them.
    """
    if not (_session_runs() or _jars() or _named_to_spark()):
        message = f"Spark has no {KAFKA.name}: {_FIX}"
        raise ConfigurationError(message)


def _session_runs() -> bool:
    pyspark = sys.modules.get("pyspark")
    return pyspark is not None and pyspark.SparkContext._active_spark_context is not None  # noqa: SLF001


def _named_to_spark() -> bool:
    """Return whether Spark may find the jars in its own directory or by its configuration."""
    spec = find_spec("pyspark")
    places = [] if spec is None else [*(spec.submodule_search_locations or ())]
    home = Path(os.environ.get("SPARK_HOME") or next(iter(places), "."))
    if any(home.glob("jars/spark-sql-kafka-0-10*.jar")):
        return True
    defaults = Path(os.environ.get("SPARK_CONF_DIR") or home / "conf") / "spark-defaults.conf"
    arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell")
    return defaults.exists() or arguments.strip() != "pyspark-shell"


class Module(NamedTuple):
    """A Spark module that pyspark's wheel lacks: its name, and a class that the module contains."""

    name: str
    provider: str


KAFKA = Module("Kafka connector", "org.apache.spark.sql.kafka010.KafkaSourceProvider")
_AVRO = Module("module for Avro", "org.apache.spark.sql.avro.AvroDataToCatalyst")


def check_loaded(spark: SparkSession, *, avro: bool = False) -> None:
    """Check that a session has loaded the Kafka connector or, with `avro`, the module for Avro.

    Raises
    ------
    ConfigurationError
        The session has not loaded the module. The message says how to get the jars.
    """
    module = _AVRO if avro else KAFKA
    loader: Any = _jvm(spark).Thread.currentThread().getContextClassLoader()
    try:
        loader.loadClass(module.provider)
    except Py4JJavaError:
        message = (
            f"Spark has no {module.name}: {_FIX}; an existing session must have been started with "
            "them (spark.jars)"
        )
        raise ConfigurationError(message) from None


def _jvm(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm  # noqa: SLF001 - PySpark's way to the JVM
