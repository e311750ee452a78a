"""A password in Kafka's settings grants access, and appears in no output."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.kafka import Address, ClientSettings, produce, topics
from evenkey.kafka.topic_records import find_records
from tests.brokers import PASSWORD
from tools.kafka_broker import USER

# Runs a pipeline with everything that Spark can log about it, and prints its plan.
PROGRAM = """
import sys
from pathlib import Path
from evenkey.spark.sessions.starting import session
from evenkey import PipelineConfig, run
from evenkey.kafka import ClientSettings, read_topic
from evenkey.kafka.connector import connector_settings

server, output, config = sys.argv[1:]
events = {"enabled": "true", "dir": output, "compress": "false", "rolling.enabled": "false"}
settings = {f"spark.eventLog.{name}": value for name, value in events.items()}
spark = session("local[2]", {**connector_settings(), **settings})
small = {"grouping": "pkg", "workers": 2, "sources": 2, "aggregators": 1, "epochs": 1}
out = f"{server}/guarded-out"
topics = {"kafka": f"{server}/guarded", "output_kafka": out, "kafka_config": config}
run(PipelineConfig(**topics, **small, output=f"{output}/run"))
results = read_topic(spark, out, settings=ClientSettings.read(Path(config)))
results.explain("formatted")
print(results._jdf.queryExecution().toString())
print("messages", results.selectExpr("sum(count)").first()[0])
spark.stop()
"""


@pytest.fixture
def settings(tmp_path):
    file = tmp_path / "kafka.properties"
    file.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username={USER}\n"
    )
    return file


@pytest.mark.soak
def test_a_password_grants_access_and_appears_in_no_output(broker, settings, tmp_path):
    secret = {"EVENKEY_KAFKA_CLIENT_SASL_PASSWORD": PASSWORD}
    address = Address.parse(f"{broker.sasl_server}/guarded")
    records = find_records("country-skew-r80", messages=40).records
    produce(records, address, first=0.0, settings=ClientSettings.read(settings, secret))

    output = tmp_path / "out"
    output.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, broker.sasl_server, str(output), str(settings)],
        env={**os.environ, **secret},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "messages 40" in done.stdout, done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    written = [file for file in output.rglob("*") if file.is_file()]
    # Spark's event log exists, so the test has searched it.
    assert any(b"SparkListenerSQLExecutionStart" in file.read_bytes() for file in written)
    assert [file for file in written if PASSWORD.encode() in file.read_bytes()] == []
    manifest = json.loads((output / "run" / "state" / "manifest.json").read_text())
    assert manifest["kafka_config"] == str(settings)


@pytest.mark.slow(10)
def test_a_wrong_password_is_rejected_and_not_repeated(broker, settings, capfd, monkeypatch):
    # librdkafka retries until its timeout.
    monkeypatch.setattr(topics, "_TIMEOUT_SECONDS", 2.0)
    wrong = "not-the-password"
    wrong_settings = ClientSettings.read(settings, {"EVENKEY_KAFKA_CLIENT_SASL_PASSWORD": wrong})
    address = Address.parse(f"{broker.sasl_server}/guarded")
    with pytest.raises(ConfigurationError, match="correct the address or kafka_config") as error:
        produce([], address, first=0.0, settings=wrong_settings)
    assert wrong not in str(error.value) + "".join(capfd.readouterr())
