"""Settings of Kafka's clients: their sources, their users, and that values stay hidden."""

from __future__ import annotations

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.kafka import ClientSettings

SECRET = "open sesame"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "kafka.properties"
    path.write_text(
        "# how to get in\n\nsecurity.protocol = SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
        f"sasl.username=me\nsasl.password = {SECRET}\nssl.ca.location=/ca.pem\n"
    )
    return path


def test_the_environment_overrides_the_file(file):
    environment = {"EVENKEY_KAFKA_CLIENT_SASL_PASSWORD": "=#other", "PATH": "/bin"}
    settings = ClientSettings.read(file, environment)
    assert settings.for_librdkafka() == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "me",
        "sasl.password": "=#other",
        "ssl.ca.location": "/ca.pem",
    }


def test_a_variable_may_name_a_file_that_contains_the_value(file, tmp_path):
    (tmp_path / "password").write_text("from a file\n")
    name = "EVENKEY_KAFKA_CLIENT_SASL_PASSWORD"
    environment = {f"{name}_FILE": str(tmp_path / "password")}
    properties = ClientSettings.read(file, environment).for_librdkafka()
    assert properties["sasl.password"] == "from a file"
    assert not [each for each in properties if each.endswith("file")]
    with pytest.raises(ConfigurationError, match="both set: unset one"):
        ClientSettings.read(file, {**environment, name: SECRET})


def test_java_reads_a_login_module_and_a_trust_store(file):
    assert ClientSettings.read(file, {}).for_spark() == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required "
            f'username="me" password="{SECRET}";'
        ),
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": "/ca.pem",
    }


def test_quotes_in_a_password_do_not_end_it():
    java = ClientSettings({"sasl.username": "me", "sasl.password": 'a"b\\c'}).for_java()
    assert java["sasl.jaas.config"].endswith('password="a\\"b\\\\c";')


def test_values_are_not_shown(file):
    assert SECRET not in repr(ClientSettings.read(file, {}))


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("bootstrap.servers=one:9092", "bootstrap.servers is set by evenkey"),
        (SECRET, "line 1 is not `name = value`"),
        (f"sasl.mechanism=GSSAPI\nsasl.username=me\nsasl.password={SECRET}", "takes no"),
    ],
)
def test_bad_settings_are_reported_without_their_values(tmp_path, line, fault):
    file = tmp_path / "bad.properties"
    file.write_text(line)
    with pytest.raises(ConfigurationError, match=fault) as raised:
        ClientSettings.read(file, {}).for_java()
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_readers_have_one_isolation(isolation):
    other = ({"read_committed", "read_uncommitted"} - {isolation}).pop()
    option = {"kafka.isolation.level": isolation}
    assert ClientSettings().for_reading(isolation) == option
    assert ClientSettings({"isolation.level": isolation}).for_reading(isolation) == option
    with pytest.raises(ConfigurationError, match=f"isolation.level = '{other}', but isolation is"):
        ClientSettings({"isolation.level": other}).for_reading(isolation)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"kafka_config .*missing cannot be read"):
        ClientSettings.read(tmp_path / "missing", {})
