"""Kafka's admin client, which runs in Spark's JVM: topics, offsets and open transactions."""

from __future__ import annotations

import contextlib
import functools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from py4j.protocol import Py4JJavaError

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Self

    from pyspark.sql import SparkSession

    from evenkey.kafka.client import ClientSettings
    from evenkey.kafka.topic_address import Address

_Answer = TypeVar("_Answer")

Offsets = dict[str, dict[int, int]]
"""Offsets of records by topic and partition: ``{topic: {partition: offset}}``."""

_TIMEOUT_MS = 20_000
_REQUEST_MS = 10_000
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The id that a broker reports if it has no topic ids."""
_NO_ANSWER = ("TimeoutException", "DisconnectException")
_LOOK_AGAIN_SECONDS = 0.5
_PATIENCE_SECONDS = 5.0


@dataclass(frozen=True)
class TopicState:
    """The identity of a topic; a later topic of the same name has another identity.

    Parameters
    ----------
    id
        Kafka's topic id, which changes if the topic is created again. None: the broker has no topic
        ids.
    partitions
        Number of partitions.
    """

    id: str | None
    partitions: int


@dataclass(frozen=True)
class OpenTransaction:
    """A transaction that was neither committed nor aborted.

    Parameters
    ----------
    name
        The ``transactional.id`` of the producer. None: the broker does not permit evenkey to read
        it.
    started
        Time at which the transaction began, in seconds since 1970. None: the broker does not permit
        evenkey to read it.
    """

    name: str | None
    started: float | None


class Admin:
    """Kafka's admin client.

    Each method raises `ConfigurationError` if no broker answers, or if the broker refuses the
    request.

    Parameters
    ----------
    java
        The JVM, through py4j.
    client
        Java object of Kafka's admin client.
    address
        Servers and topics, which error messages contain.
    """

    def __init__(self, java: Any, client: Any, address: Address) -> None:
        self._java = java
        self._client = client
        self._address = address
        self.timeout_ms = _TIMEOUT_MS
        """How long a question to the brokers waits for an answer, in ms."""

    @classmethod
    @contextlib.contextmanager
    def open(
        cls, spark: SparkSession, address: Address, settings: ClientSettings
    ) -> Iterator[Self]:
        """Open Kafka's admin client in the JVM.

        Raises
        ------
        ConfigurationError
            The client rejects its settings.
        """
        java: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark's way to the JVM
        properties = java.java.util.Properties()
        every = {
            **settings.for_java(),
            "bootstrap.servers": address.servers,
            "default.api.timeout.ms": str(_TIMEOUT_MS),
            "request.timeout.ms": str(_REQUEST_MS),
        }
        for name, value in every.items():
            properties.setProperty(name, value)
        try:
            client = java.org.apache.kafka.clients.admin.Admin.create(properties)
        except Py4JJavaError as error:
            raise ConfigurationError(_explain(error, address, _TIMEOUT_MS)) from None
        try:
            yield cls(java, client, address)
        finally:
            # The JVM may have died in the meantime.
            with contextlib.suppress(Exception):
                client.close()

    def existing_topics(self, names: Iterable[str]) -> dict[str, TopicState]:
        """Describe topics; raise an error if one of the topics does not exist."""
        names = tuple(names)
        found = self.topics(names)
        if missing := [name for name in names if name not in found]:
            raise ConfigurationError(_no_topic(self._address, missing))
        return found

    def topics(self, names: Iterable[str]) -> dict[str, TopicState]:
        """Describe topics; leave out topics that do not exist."""
        found = {}
        with self._explained():
            asks = {name: functools.partial(self._topic, name) for name in names}
            first = {name: self._answer(ask) for name, ask in asks.items()}
            # A broker that has just started may not know a topic yet that another broker knows.
            deadline = time.monotonic() + _PATIENCE_SECONDS
            for name, state in first.items():
                while state is None and time.monotonic() < deadline:
                    time.sleep(_LOOK_AGAIN_SECONDS)
                    state = self._answer(asks[name])  # noqa: PLW2901 - asked again
                if state is not None:
                    found[name] = state
        return found

    def _topic(self, name: str) -> TopicState | None:
        asked = self._client.describeTopics(self._list([name])).topicNameValues()
        try:
            described = asked.get(name).get()
        except Py4JJavaError as error:
            if _kind(_cause(error)) == "UnknownTopicOrPartitionException":
                return None
            raise
        topic_id = described.topicId().toString()
        return TopicState(None if topic_id == _NO_ID else topic_id, described.partitions().size())

    def names(self) -> set[str]:
        """Return the names of all topics."""
        with self._explained():
            return set(self._client.listTopics().names().get())

    def create(self, names: Iterable[str]) -> None:
        """Create topics with the broker's default numbers of partitions and replicas."""
        by_default = self._java.java.util.Optional.empty()
        new = self._kafka.clients.admin.NewTopic
        with self._explained():
            topics = self._list([new(name, by_default, by_default) for name in names])
            self._client.createTopics(topics).all().get()

    def offsets(
        self, partitions: Mapping[str, int], which: Literal["earliest", "latest", "stable"]
    ) -> Offsets:
        """Return an offset of each partition of topics.

        Parameters
        ----------
        partitions
            Number of partitions of each topic.
        which
            ``earliest``: the first record that still exists. ``latest``: after the last record.
            ``stable``: after the last record before any open transaction.
        """
        admin, common = self._kafka.clients.admin, self._kafka.common
        isolations = common.IsolationLevel
        committed, every = isolations.READ_COMMITTED, isolations.READ_UNCOMMITTED
        isolation = committed if which == "stable" else every
        specs = admin.OffsetSpec
        spec = specs.earliest() if which == "earliest" else specs.latest()
        with self._explained():
            asked = self._java.java.util.HashMap()
            places = {
                (topic, number): common.TopicPartition(topic, number)
                for topic, count in partitions.items()
                for number in range(count)
            }
            for place in places.values():
                asked.put(place, spec)
            options = admin.ListOffsetsOptions(isolation)
            stated = self._answer(lambda: self._client.listOffsets(asked, options).all().get())
            found: Offsets = {topic: {} for topic in partitions}
            for (topic, number), place in places.items():
                found[topic][number] = stated.get(place).offset()
        return found

    def transactions(self, topic: str, partition: int) -> list[OpenTransaction]:
        """List the open transactions that have records in a partition, the oldest first.

        Transactions that the broker does not permit evenkey to read are left out.
        """
        place = self._kafka.common.TopicPartition(topic, partition)
        try:
            result = self._client.describeProducers(self._list([place])).partitionResult(place)
            producers = [
                each.producerId()
                for each in result.get().activeProducers()
                if each.currentTransactionStartOffset().isPresent()
            ]
            found = [self._transaction(each) for each in producers]
        except Py4JJavaError:
            return []
        return sorted(found, key=lambda each: (each.started is None, each.started or 0.0))

    def _transaction(self, producer: int) -> OpenTransaction:
        util = self._java.java.util
        ids = util.stream.LongStream.of(producer).boxed().collect(util.stream.Collectors.toSet())
        options = self._kafka.clients.admin.ListTransactionsOptions().filterProducerIds(ids)
        for listed in self._client.listTransactions(options).all().get():
            name = listed.transactionalId()
            described = self._client.describeTransactions(self._list([name])).description(name)
            started = described.get().transactionStartTimeMs()
            return OpenTransaction(
                name, started.getAsLong() / 1000 if started.isPresent() else None
            )
        return OpenTransaction(None, None)

    @property
    def _kafka(self) -> Any:
        return self._java.org.apache.kafka

    def _list(self, values: Iterable[Any]) -> Any:
        converted = self._java.java.util.ArrayList()
        for value in values:
            converted.add(value)
        return converted

    def _answer(self, ask: Callable[[], _Answer]) -> _Answer:
        """Ask again while no broker answers, until `timeout_ms` has passed.

        Kafka's own timeout of a call does not hold for all requests of the call: describeTopics
        first asks for the nodes, with the timeout of the client.
        """
        deadline = time.monotonic() + self.timeout_ms / 1000
        while True:
            try:
                return ask()
            except Py4JJavaError as error:
                if _kind(_cause(error)) not in _NO_ANSWER or time.monotonic() >= deadline:
                    raise
                time.sleep(_LOOK_AGAIN_SECONDS)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except Py4JJavaError as error:
            raise ConfigurationError(_explain(error, self._address, self.timeout_ms)) from None


def _no_topic(address: Address, names: Iterable[str]) -> str:
    return (
        f"kafka: no topic {', '.join(names)} at {address.servers}: create it, or fill it "
        "with `evenkey dataset produce`"
    )


def _cause(error: Py4JJavaError) -> Any:
    cause: Any = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return cause


def _kind(cause: Any) -> str:
    return str(cause.getClass().getSimpleName())


def _explain(error: Py4JJavaError, address: Address, timeout_ms: int) -> str:
    """Explain an error in one line that contains no values of settings."""
    cause = _cause(error)
    kind = _kind(cause)
    if kind == "UnknownTopicOrPartitionException":
        return _no_topic(address, address.topics)
    if kind in _NO_ANSWER:
        return (
            f"kafka: no broker answers at {address.servers} within {timeout_ms // 1000} s: start "
            "it (`make kafka-up`), or correct the servers and security.protocol"
        )
    if kind == "ConfigException":
        return "kafka_config: Kafka's client rejects a setting; check the names in Kafka's manual"
    return f"kafka at {address.servers}: {kind}: {cause.getMessage()}"
