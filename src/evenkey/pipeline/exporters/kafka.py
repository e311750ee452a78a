"""Export to a Kafka topic, from which InfluxDB or other programs can read."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from evenkey.core.errors import ConfigurationError
from evenkey.core.extras import load_extra
from evenkey.core.secrets import secret
from evenkey.pipeline.exporters.base import Exporter, Unreachable
from evenkey.pipeline.exporters.line_protocol import lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.pipeline.exporters.base import Ending
    from evenkey.pipeline.exporters.epoch_record import EpochRecord, RunInfo
    from evenkey.pipeline.exporters.export_address import ExportAddress

_TIMEOUT_SECONDS = 5
_FORMATS = ("json", "influx")
_PORT = 9092


class Kafka(Exporter):
    """Writes one message per epoch to ``kafka://SERVER[,SERVER]/TOPIC``, keyed by the run's name.

    The value of a message is a JSON object, or with ``format=influx`` lines of InfluxDB's line
    protocol. Options with a dot, such as ``security.protocol=SASL_SSL``, go to librdkafka
    unchanged. ``sasl.password`` comes from ``EVENKEY_KAFKA_CLIENT_SASL_PASSWORD``, or from the file
    that ``EVENKEY_KAFKA_CLIENT_SASL_PASSWORD_FILE`` names. A retried message may arrive twice;
    readers can recognise the copy, because it has the same run and epoch.

    Parameters
    ----------
    address
        The address of the topic.
    run
        The run whose records are exported.

    Raises
    ------
    ConfigurationError
        The address or an option is invalid, or the package is missing.
    """

    def __init__(self, address: ExportAddress, run: RunInfo) -> None:
        self.check(address)
        client = {name: value for name, value in address.options.items() if "." in name}
        self._form = address.options.get("format", "json")
        self._address = address
        self._run = run
        module = load_extra("confluent_kafka", "kafka", "export to Kafka")
        password = secret("EVENKEY_KAFKA_CLIENT_SASL_PASSWORD")
        secrets = {} if password is None else {"sasl.password": password}
        settings = {
            "bootstrap.servers": address.place,
            "message.timeout.ms": 1000 * _TIMEOUT_SECONDS,
            "enable.idempotence": True,
            "log_level": 0,  # the outlet reports failures
            **client,
        }
        try:
            self._producer: Any = module.Producer(settings | secrets)
        except module.KafkaException as error:
            reason = error.args[0].str() if error.args else ""
            message = (
                f"export = {address.text!r}: Kafka's client rejects it ({reason}); correct the "
                "address or its options"
            )
            raise ConfigurationError(message) from None

    @staticmethod
    def check(address: ExportAddress) -> None:
        """Reject an address that is invalid for a topic."""
        address.only("format", "queue", *(name for name in address.options if "." in name))
        form = address.options.get("format", "json")
        if form not in _FORMATS:
            message = (
                f"export = {address.text!r}: format = {form!r} must be one of {', '.join(_FORMATS)}"
            )
            raise ConfigurationError(message)
        if not address.path:
            message = f"export = {address.text!r}: it names no topic; add /TOPIC"
            raise ConfigurationError(message)
        for server in address.place.split(","):
            dataclasses.replace(address, place=server).host_port(_PORT)

    @property
    def to(self) -> str:
        """The address, which never contains a password."""
        return self._address.text

    def points(self, record: EpochRecord) -> list[bytes]:
        """Return the record as one message."""
        if self._form == "influx":
            return ["\n".join(lines(self._run, record)).encode()]
        hottest = [dataclasses.asdict(each) for each in record.hottest]
        shared = {**vars(self._run), "epoch": record.epoch, "ended": record.ended}
        lists = {"hottest": hottest, "owners": record.owners}
        return [json.dumps({**shared, **record.figures, **lists}).encode()]

    def write(self, points: Sequence[bytes]) -> None:
        """Send messages, and wait until the broker has acknowledged all of them."""
        failures: list[str] = []

        def delivered(error: Any, _message: Any) -> None:
            if error is not None:
                failures.append(error.str())

        try:
            for value in points:
                self._producer.produce(
                    self._address.path, value, self._run.run.encode(), on_delivery=delivered
                )
            left = self._producer.flush(2 * _TIMEOUT_SECONDS)
        except BufferError as error:
            raise Unreachable(str(error)) from error
        if failures or left:
            self._producer.purge()
            raise Unreachable(failures[0] if failures else "no answer")

    def close(self, ending: Ending) -> None:
        """Do nothing: every write waits for the broker."""
        del ending
