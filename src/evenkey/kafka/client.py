"""Settings of Kafka's clients, mainly for security. Secrets come from files or the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from evenkey.core.errors import ConfigurationError
from evenkey.core.secrets import secret

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Self

Isolation = Literal["read_committed", "read_uncommitted"]
"""Whether readers skip records of transactions that are open or were aborted."""

_ISOLATION = "isolation.level"
_PREFIX = "EVENKEY_KAFKA_CLIENT_"
_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
# Spark sets these properties itself, and rejects them as options.
_SPARKS_OWN = ("bootstrap.servers", "group.id", "auto.offset.reset", "enable.auto.commit")


@dataclass(frozen=True)
class ClientSettings:
    """Properties of Kafka's clients; ``repr`` does not show their values.

    evenkey uses two clients: Kafka's Java client inside Spark, and librdkafka to produce datasets.
    Most properties have the same names in both. librdkafka's ``sasl.username``, ``sasl.password``
    and ``ssl.ca.location`` are translated for Java.

    Parameters
    ----------
    properties
        Values of properties by name, such as ``security.protocol``; by default none is set.

    Examples
    --------
    >>> settings = ClientSettings({"security.protocol": "SASL_SSL", "sasl.password": "secret"})
    >>> "secret" in repr(settings), settings.for_librdkafka()["security.protocol"]
    (False, 'SASL_SSL')

    Settings from a properties file, as Kafka's own tools use it. Environment variables override the
    file.

    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp(), "client.properties")
    >>> _ = file.write_text("security.protocol=SSL")
    >>> ClientSettings.read(file, {}).for_spark()
    {'kafka.security.protocol': 'SSL'}
    """

    properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, file: Path | None, environment: Mapping[str, str] = os.environ) -> Self:
        """Read the settings from a properties file and from the environment.

        Parameters
        ----------
        file
            Properties file with lines ``name = value``, as for Kafka's own tools; None: no file.
        environment
            Environment variables, by default those of this process. They override the file.
            ``EVENKEY_KAFKA_CLIENT_SASL_PASSWORD``
            sets ``sasl.password``, and so on for other properties.
            ``EVENKEY_KAFKA_CLIENT_SASL_PASSWORD_FILE`` names a file that contains the value.

        Raises
        ------
        ConfigurationError
            The file cannot be read, or sets a property that evenkey sets itself. No message
            contains the value of a property.
        """
        properties = {} if file is None else _parse(file)
        named = {name.removesuffix("_FILE") for name in environment if name.startswith(_PREFIX)}
        for name in sorted(named):
            value = secret(name, environment)
            if value is not None:
                properties[name.removeprefix(_PREFIX).lower().replace("_", ".")] = value
        for name in _SPARKS_OWN:
            if name in properties:
                message = f"kafka_config: {name} is set by evenkey; leave it out"
                raise ConfigurationError(message)
        return cls(properties)

    def for_java(self) -> dict[str, str]:
        """Return the properties for Kafka's Java client.

        Raises
        ------
        ConfigurationError
            ``sasl.username`` is set, but the SASL mechanism does not use a user name.

        Examples
        --------
        >>> ClientSettings({"ssl.ca.location": "ca.pem"}).for_java()
        {'ssl.truststore.type': 'PEM', 'ssl.truststore.location': 'ca.pem'}
        """
        properties = dict(self.properties)
        authority = properties.pop("ssl.ca.location", None)
        if authority is not None:
            properties.setdefault("ssl.truststore.type", "PEM")
            properties.setdefault("ssl.truststore.location", authority)
        user = properties.pop("sasl.username", None)
        password = properties.pop("sasl.password", "")
        if user is not None:
            mechanism = properties.get("sasl.mechanism", "PLAIN")
            if mechanism not in _LOGIN_MODULES:
                known = ", ".join(_LOGIN_MODULES)
                message = (
                    f"kafka_config: sasl.mechanism = {mechanism!r} takes no sasl.username; use one "
                    f"of {known}, or sasl.jaas.config"
                )
                raise ConfigurationError(message)
            properties["sasl.mechanism"] = mechanism
            properties["sasl.jaas.config"] = (
                f"{_LOGIN_MODULES[mechanism]} required username={_quoted(user)} "
                f"password={_quoted(password)};"
            )
        return properties

    def for_librdkafka(self) -> dict[str, str]:
        """Return the properties for librdkafka."""
        return dict(self.properties)

    def for_spark(self) -> dict[str, str]:
        """Return the properties of the Java client as options of Spark's source and sink."""
        return {f"kafka.{name}": value for name, value in self.for_java().items()}

    def for_reading(self, isolation: Isolation) -> dict[str, str]:
        """Return the options of Spark's source for an isolation level.

        Raises
        ------
        ConfigurationError
            The properties set another isolation level.

        Examples
        --------
        >>> ClientSettings().for_reading("read_committed")
        {'kafka.isolation.level': 'read_committed'}
        """
        own = self.properties.get(_ISOLATION, isolation)
        if own != isolation:
            message = (
                f"kafka_config: {_ISOLATION} = {own!r}, but isolation is {isolation!r}: leave it "
                "out of kafka_config, and set it with the option isolation"
            )
            raise ConfigurationError(message)
        return {**self.for_spark(), f"kafka.{_ISOLATION}": isolation}


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _parse(file: Path) -> dict[str, str]:
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error.reason
        message = f"kafka_config {file} cannot be read ({reason}): name a properties file"
        raise ConfigurationError(message) from None
    properties = {}
    for number, line in enumerate(text.replace("\\\n", "").splitlines(), start=1):
        bare = line.strip()
        if not bare or bare[0] in "#!":
            continue
        name, sign, value = bare.partition("=")
        if not sign or not name.strip():
            message = f"kafka_config {file}: line {number} is not `name = value`"
            raise ConfigurationError(message)
        properties[name.strip()] = value.strip()
    return properties
