"""Sessions of runs hide the secrets of Kafka's settings, wherever Spark finds the connector."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.kafka import connector
from evenkey.kafka.connector import check_findable, check_loaded, connector_settings

SECRET = [
    "kafka.ssl.keystore.key",
    "kafka.sasl.jaas.config",
    "kafka.ssl.truststore.password",
    "spark.hadoop.fs.s3a.access.key",
]


@pytest.mark.parametrize("jars", [True, False])
def test_secrets_are_hidden_with_and_without_jars_of_evenkeys(jars, tmp_path, monkeypatch):
    monkeypatch.delenv("EVENKEY_KAFKA_JARS", raising=False)
    monkeypatch.setattr(connector, "_CHECKOUT", tmp_path)
    if jars:
        (tmp_path / "build/kafka/connector").mkdir(parents=True)
        (tmp_path / "build/kafka/connector/a.jar").touch()
    settings = connector_settings()
    assert ("spark.jars" in settings) == jars
    for name in ("spark.redaction.regex", "spark.sql.redaction.options.regex"):
        assert all(re.search(settings[name], each) for each in SECRET)


def test_without_jars_nothing_is_found(tmp_path, monkeypatch):
    for variable in ("EVENKEY_KAFKA_JARS", "SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(connector, "_CHECKOUT", tmp_path)
    monkeypatch.setattr(connector, "_session_runs", lambda: False)
    with pytest.raises(ConfigurationError, match="Spark has no Kafka connector"):
        check_findable()
    monkeypatch.setenv("EVENKEY_KAFKA_JARS", str(tmp_path))
    with pytest.raises(ConfigurationError, match="it has no jars"):
        connector_settings()


def test_a_session_must_have_loaded_only_the_module_that_is_asked_for(monkeypatch):
    asked: list[str] = []
    loader = SimpleNamespace(loadClass=asked.append)
    thread = SimpleNamespace(getContextClassLoader=lambda: loader)
    java = SimpleNamespace(Thread=SimpleNamespace(currentThread=lambda: thread))
    monkeypatch.setattr(connector, "_jvm", lambda _: java)
    session: Any = None
    check_loaded(session)
    assert asked == ["org.apache.spark.sql.kafka010.KafkaSourceProvider"]
    check_loaded(session, avro=True)
    assert asked[1:] == ["org.apache.spark.sql.avro.AvroDataToCatalyst"]
