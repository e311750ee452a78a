"""Topics that are compacted, reject records, are forbidden, or change their password."""

from __future__ import annotations

import json
import os
import secrets
import signal
import time
from collections import Counter
from typing import Any

import pytest

from evenkey.pipeline.runs.output.directory import RunDirectory
from tests.brokers import PASSWORD, begin_transaction, create, fill, send, start_broker
from tests.faults.outside import EVENKEY, assert_refused, begin, command, environment
from tests.processes import end_session
from tests.runs.killing import in_the_middle_of_an_epoch
from tools.kafka_broker import USER

pytestmark = [pytest.mark.soak, pytest.mark.faults, pytest.mark.timeout(1200)]

KEYS = [b"hot", b"hot", b"hot", b"cold 1", b"hot", b"cold 2"]
LARGE = 10 << 20
SIZES = (
    *("--workers", "2", "--sources", "2", "--aggregators", "1", "--epochs", "4"),
    *("--master", "local[2]"),
)


def words(server, topic, output, *more):
    return [
        *(str(EVENKEY), "run", "--kafka", f"{server}/{topic}", *SIZES),
        *("--output", str(output), *more),
    ]


def alter(broker, topic, settings):
    import confluent_kafka.admin

    kafka: Any = confluent_kafka.admin
    entries = [
        kafka.ConfigEntry(name, value, incremental_operation=kafka.AlterConfigOpType.SET)
        for name, value in settings.items()
    ]
    changed = kafka.ConfigResource("topic", topic, incremental_configs=entries)
    admin = kafka.AdminClient({"bootstrap.servers": broker.server})
    for done in admin.incremental_alter_configs([changed]).values():
        done.result(240)


def placed(output):
    held = RunDirectory(output).files.read("placed")
    assert held is not None
    counts: Counter[str] = Counter()
    for row in held.to_pylist():
        counts[row["key"]] += row["messages"]
    return counts


def test_a_compacted_topic(broker, tmp_path):
    """Offsets have gaps: the remaining records are counted, and the run ends."""
    create(
        broker,
        "compacted",
        cleanup_policy="compact",
        segment_bytes=1 << 20,
        segment_ms=1000,
        min_cleanable_dirty_ratio=0.001,
        max_compaction_lag_ms=1000,
    )
    values = [KEYS[number % 6] for number in range(6000)]
    keys = [f"{number % 97}".encode() for number in range(6000)]
    send(broker, "compacted", values, keys)
    deadline = time.monotonic() + 240
    left = ticks = len(values)
    while left > len(values) // 2:
        assert time.monotonic() < deadline, f"nothing was compacted: {left} records"
        # A segment is closed when a record comes that is so much later.
        ticks += 60
        send(broker, "compacted", [b"cold 3"] * 2, [b"tick 1", b"tick 2"], ticks)
        time.sleep(3)
        left = readable(broker, "compacted")
    # From here on the broker compacts no more, so the run reads the expected records.
    alter(broker, "compacted", {"cleanup.policy": "delete", "retention.ms": "-1"})
    time.sleep(10)  # for a compaction that it is in
    before = Counter(value.decode() for _, value in consumed(broker, "compacted"))
    ended = command(words(broker.server, "compacted", tmp_path / "out"))
    assert ended.code == 0, ended.err[-4000:]
    assert placed(tmp_path / "out") == before


def consumed(broker, topic):
    """Read a topic to its end, even if offsets are missing."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": broker.server,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    found = []
    try:
        numbers = list(consumer.list_topics(topic, timeout=240).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in numbers])
        ends = 0
        while ends < len(numbers):
            message = consumer.poll(240)
            assert message is not None
            error = message.error()
            if error is None:
                found.append((message.key(), message.value()))
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ends += 1
    finally:
        consumer.close()
    return found


def readable(broker, topic):
    return len(consumed(broker, topic))


def test_records_of_10_megabytes(broker, tmp_path):
    """A key of that size is a normal key."""
    create(broker, "large", max_message_bytes=2 * LARGE)
    values = [b"x" * LARGE, *[KEYS[number % 6] for number in range(60)], b"y" * LARGE]
    send(broker, "large", values, message_max_bytes=2 * LARGE)
    ended = command(words(broker.server, "large", tmp_path / "out"))
    assert ended.code == 0, ended.err[-4000:]
    assert placed(tmp_path / "out") == Counter(value.decode() for value in values)


def test_results_above_the_limit_of_their_topic(broker, tmp_path):
    """No result is dropped: the run stops, and continues when the topic accepts them."""
    create(broker, "above", max_message_bytes=2 * LARGE)
    create(broker, "above-out")
    values = [b"x" * (3 << 20), *[KEYS[number % 6] for number in range(60)]]
    send(broker, "above", values, message_max_bytes=2 * LARGE)
    settings = tmp_path / "kafka.properties"
    settings.write_text(f"max.request.size={2 * LARGE}\n")
    out = ("--output-kafka", f"{broker.server}/above-out", "--kafka-config", str(settings))
    given = words(broker.server, "above", tmp_path / "out", *out)
    assert_refused(command(given), "topic above-out rejected a record", "max.message.bytes")
    alter(broker, "above-out", {"max.message.bytes": str(2 * LARGE)})
    ended = command(given)
    assert ended.code == 0, ended.err[-4000:]
    # Readers take a result that was sent twice for one. A record a second: one a key and minute.
    found = {key for key, _ in consumed(broker, "above-out")}
    assert len(found) == len({(number // 60, value) for number, value in enumerate(values)})
    assert placed(tmp_path / "out") == Counter(value.decode() for value in values)


def test_a_dead_letter_above_the_limit_of_its_topic(broker, tmp_path):
    """The dead letter is not dropped: the run stops, and continues when the topic accepts it."""
    create(broker, "torn", max_message_bytes=2 * LARGE)
    create(broker, "torn-out")
    create(broker, "torn-out-dead-letters")
    good = [json.dumps({"user": KEYS[number % 6].decode()}).encode() for number in range(60)]
    values = [b'{"user": "' + b"x" * (3 << 20), *good]
    send(broker, "torn", values, message_max_bytes=2 * LARGE)
    settings = tmp_path / "kafka.properties"
    settings.write_text(f"max.request.size={2 * LARGE}\n")
    out = ("--output-kafka", f"{broker.server}/torn-out", "--kafka-config", str(settings))
    given = words(
        broker.server, "torn", tmp_path / "out", *out, *("--split", "json", "--key", "user")
    )
    line = "topic torn-out-dead-letters rejected a record"
    assert_refused(command(given), line, "max.message.bytes")
    alter(broker, "torn-out-dead-letters", {"max.message.bytes": str(2 * LARGE)})
    ended = command(given)
    assert ended.code == 0, ended.err[-4000:]
    assert len({key for key, _ in consumed(broker, "torn-out-dead-letters")}) == 1
    assert placed(tmp_path / "out") == Counter(KEYS[number % 6].decode() for number in range(60))


def read_until(process, text):
    """Return what a command wrote to standard error up to a line with a text."""
    said = ""
    while text not in said:
        line = process.stderr.readline()
        assert line, f"it ended without {text!r}: {said[-4000:]}"
        said += line
    return said


@pytest.mark.parametrize("end", ["commit_transaction", "abort_transaction"])
def test_a_transaction_that_is_open_for_a_minute(broker, tmp_path, end):
    """The command reports its owner and age, and ends when the transaction does."""
    topic = f"held-{end}"
    fill(broker, topic, KEYS * 20)
    producer = begin_transaction(broker, topic, [b"open"] * 20)
    began = time.monotonic()
    process = begin(words(broker.server, topic, tmp_path / "out"))
    waits = f"waiting for a transaction: transaction 'of {topic}', open for "
    said = read_until(process, waits)
    time.sleep(max(0, 65 - (time.monotonic() - began)))
    assert process.poll() is None, "it did not wait"
    getattr(producer, end)(240)
    out, err = process.communicate(timeout=400)
    end_session(process.pid)
    assert process.returncode == 0, (out, said[-4000:], err[-4000:])
    more = {"open": 20} if end == "commit_transaction" else {}
    assert placed(tmp_path / "out") == Counter(key.decode() for key in KEYS * 20) + Counter(more)


AUTHORIZER = """\
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
"""


def allow(broker, topic, *operations):
    import confluent_kafka.admin

    kafka: Any = confluent_kafka.admin
    rules = [
        kafka.AclBinding(
            kafka.ResourceType.TOPIC,
            topic,
            kafka.ResourcePatternType.LITERAL,
            f"User:{USER}",
            "*",
            kafka.AclOperation[operation],
            kafka.AclPermissionType.ALLOW,
        )
        for operation in operations
    ]
    admin = kafka.AdminClient({"bootstrap.servers": broker.server})
    for done in admin.create_acls(rules).values():
        done.result(240)


def test_a_topic_that_may_not_be_written(tmp_path):
    """The user may only read: the run stops, and continues with the right to write."""
    broker = start_broker(tmp_path / "kafka", AUTHORIZER)
    settings = tmp_path / "kafka.properties"
    settings.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username={USER}\n"
    )
    around = environment(EVENKEY_KAFKA_CLIENT_SASL_PASSWORD=PASSWORD)
    more = ("--output-kafka", f"{broker.sasl_server}/shut-out", "--kafka-config", str(settings))
    given = words(broker.sasl_server, "shut", tmp_path / "out", *more)
    try:
        fill(broker, "shut", KEYS * 20)
        create(broker, "shut-out")
        create(broker, "shut-out-dead-letters")
        allow(broker, "shut", "READ", "DESCRIBE")
        allow(broker, "shut-out", "DESCRIBE")
        allow(broker, "shut-out-dead-letters", "DESCRIBE")
        assert_refused(command(given, environment=around), "shut-out")
        assert consumed(broker, "shut-out") == []
        allow(broker, "shut-out", "WRITE")
        ended = command(given, environment=around)
        assert ended.code == 0, ended.err[-4000:]
        windows = {(number // 60, key) for number, key in enumerate(KEYS * 20)}
        assert len({key for key, _ in consumed(broker, "shut-out")}) == len(windows)
    finally:
        broker.stop()


def test_a_password_that_ends_in_the_middle(tmp_path):
    """The broker restarts with another password: the run stops, and continues with the new one."""
    broker = start_broker(tmp_path / "kafka")
    old, new = broker._password, secrets.token_hex(16)
    assert old is not None
    settings = tmp_path / "kafka.properties"
    settings.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username={USER}\n"
        "request.timeout.ms=20000\ndefault.api.timeout.ms=30000\n"
    )
    output = tmp_path / "out"
    given = words(broker.sasl_server, "guarded", output, "--kafka-config", str(settings))
    try:
        fill(broker, "guarded", KEYS * 700)
        with_old = environment(EVENKEY_KAFKA_CLIENT_SASL_PASSWORD=old)
        process = begin([*given, "--cost-ms", "3"], environment=with_old)
        while not in_the_middle_of_an_epoch(output):
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.02)
        broker.stop()
        broker._password = new
        broker.start()
        out, err = process.communicate(timeout=900)
        end_session(process.pid)
        assert process.returncode in {1, 2}, (out, err)
        lines = [line for line in err.splitlines() if line.startswith("error:")]
        assert len(lines) == 1, err
        assert old not in err + out
        again = environment(EVENKEY_KAFKA_CLIENT_SASL_PASSWORD=new)
        ended = command(given, environment=again, seconds=900)
        assert ended.code == 0, ended.err[-4000:]
        assert placed(output) == Counter(key.decode() for key in KEYS * 700)
        written = [file for file in output.rglob("*") if file.is_file()]
        secret = [file for file in written if new.encode() in file.read_bytes()]
        assert secret == []
        assert new not in ended.err + ended.out
    finally:
        broker.stop()


def test_a_broker_that_is_killed(tmp_path):
    """Killed with -9 in the middle of an epoch, and restarted: the run waits for it."""
    broker = start_broker(tmp_path / "kafka")
    output = tmp_path / "out"
    given = words(broker.server, "killed", output, "--output-kafka", f"{broker.server}/killed-out")
    try:
        fill(broker, "killed", KEYS * 700)
        process = begin([*given, "--cost-ms", "3"])
        while not in_the_middle_of_an_epoch(output):
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.02)
        assert broker.pid is not None
        os.kill(broker.pid, signal.SIGKILL)
        time.sleep(10)
        broker.stop()
        broker.start()
        _, err = process.communicate(timeout=900)
        end_session(process.pid)
        assert process.returncode == 0, err[-4000:]
        assert placed(output) == Counter(key.decode() for key in KEYS * 700)
        windows = {(number // 60, key) for number, key in enumerate(KEYS * 700)}
        assert len({key for key, _ in consumed(broker, "killed-out")}) == len(windows)
    finally:
        broker.stop()
