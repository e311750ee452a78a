"""The options of a pipeline that reads or writes Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import FORMATS
from evenkey.kafka import Address, Isolation
from evenkey.pipeline.options.base import Configuration
from evenkey.pipeline.options.option_fields import AnyPath, option

if TYPE_CHECKING:
    from evenkey.core.streams import SplitName

_OF_A_TOPIC = ("starting_offsets", "record_part", "isolation", "follow")
_OF_OTHER_INPUT = ("messages", "rate", "arrival_rate")
_DEAD_LETTERS = "-dead-letters"


def _one_topic(text: str) -> str:
    return str(Address.parse_one(text))


def _offsets(text: str) -> str:
    if text not in ("earliest", "latest"):
        from evenkey.kafka import OffsetRange

        OffsetRange.parse_start(text)
    return text


class KafkaOptions(Configuration):
    """Options for topics to read and to write; a base class of configurations."""

    kafka: Annotated[str, AfterValidator(lambda text: str(Address.parse(text)))] | None = option(
        "Kafka",
        None,
        "Topics to read: SERVERS/TOPIC[,TOPIC], such as 127.0.0.1:9092/clicks.",
        first=True,
        metavar="SERVERS/TOPICS",
    )
    starting_offsets: Annotated[str, AfterValidator(_offsets)] = option(
        "Kafka",
        "earliest",
        'First records to read: earliest, latest, or JSON such as {"clicks": {"0": 23}}.',
        metavar="OFFSETS",
    )
    record_part: Literal["value", "key"] = option(
        "Kafka", "value", "Part of a record that is split into messages."
    )
    isolation: Isolation = option(
        "Kafka",
        "read_committed",
        "read_committed skips records of open and aborted transactions, read_uncommitted reads "
        "them.",
    )
    follow: bool = option(
        "Kafka",
        default=False,
        description="Keep reading new records; without it a run ends with the records that "
        "existed at its start.",
    )
    output_kafka: Annotated[str, AfterValidator(_one_topic)] | None = option(
        "Kafka",
        None,
        "Topic for the results: SERVERS/TOPIC; the sink is then kafka.",
        first=True,
        metavar="SERVERS/TOPIC",
    )
    dead_letters_topic: Annotated[str, AfterValidator(Address.check_topic)] | None = option(
        "Kafka",
        None,
        "Topic for dead letters on the same servers; default: TOPIC-dead-letters.",
        metavar="TOPIC",
    )
    kafka_config: AnyPath | None = option(
        "Kafka",
        None,
        "Properties file for Kafka's clients (security.protocol=...); secrets belong there or "
        "in EVENKEY_KAFKA_CLIENT_SASL_PASSWORD and the like.",
        free=True,
    )

    @property
    def source_address(self) -> Address | None:
        """The address of the topics to read; None: no topics are read."""
        return None if self.kafka is None else Address.parse(self.kafka)

    @property
    def sink_address(self) -> Address | None:
        """The address of the topic for results; None: results go elsewhere."""
        return None if self.output_kafka is None else Address.parse(self.output_kafka)

    def resolved_dead_letters_topic(self, results: str) -> str:
        """Return the topic for dead letters, given the topic for results."""
        return self.dead_letters_topic or f"{results}{_DEAD_LETTERS}"

    def check_paths(self) -> None:
        """Check that Spark can load its Kafka connector, and that brokers answer.

        Raises
        ------
        ConfigurationError
            Spark cannot load the connector, or no broker answers.
        """
        super().check_paths()
        addresses = [each for each in (self.source_address, self.sink_address) if each is not None]
        if not addresses:
            return
        from evenkey.kafka import ClientSettings, check_findable

        ClientSettings.read(self.kafka_config).for_reading(self.isolation)
        check_findable()
        for address in addresses:
            address.check_reachable()

    def check_kafka_input(self, split: SplitName | None) -> None:
        """Reject options that do not fit the input.

        Options for topics are rejected if no topic is read. Options for other inputs, and splits
        that topics cannot have, are rejected if topics are read.
        """
        if self.kafka is None:
            for name in _OF_A_TOPIC:
                if getattr(self, name) != type(self).model_fields[name].default:
                    message = f"{name}: it applies only to topics, and none is read; pass kafka"
                    raise ConfigurationError(message)
            return
        for name in _OF_OTHER_INPUT:
            if getattr(self, name, None) is not None:
                message = (
                    f"{name} = {getattr(self, name)!r}: topics are read up to their end, and "
                    f"their records have their own times; leave out {name}"
                )
                raise ConfigurationError(message)
        if split is not None and not FORMATS[split].in_topics:
            message = (
                f"split = {split!r}: a record of a topic is one line without a header; pass one "
                f"of {', '.join(name for name, form in FORMATS.items() if form.in_topics)}"
            )
            raise ConfigurationError(message)

    def check_kafka_output(self, sink: str) -> None:
        """Reject sinks that contradict the output topic, and topics that are read and written."""
        if sink == "kafka" and self.output_kafka is None:
            message = "sink = 'kafka': no topic is given; pass output_kafka"
            raise ConfigurationError(message)
        if sink != "kafka" and self.output_kafka is not None:
            message = (
                f"sink = {sink!r}: output_kafka = {self.output_kafka!r} sends results to a topic "
                "instead; leave out one of the two"
            )
            raise ConfigurationError(message)
        if self.dead_letters_topic is not None and self.output_kafka is None:
            message = (
                f"dead_letters_topic = {self.dead_letters_topic!r}: dead letters go to a topic "
                "only if results do; pass output_kafka"
            )
            raise ConfigurationError(message)
        if self.source_address and self.sink_address:
            results = self.sink_address.topic
            written = {results, self.resolved_dead_letters_topic(results)}
            if both := written.intersection(self.source_address.topics):
                message = f"topic {both.pop()!r} would be read and written; choose another"
                raise ConfigurationError(message)
