"""Record the topics of a run at its start, and check them from then on.

While a transaction is open, a run reads no later records of its partition, which is reported.
"""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.core.errors import ConfigurationError, EvenkeyError, RunError
from evenkey.kafka import (
    Admin,
    ClientSettings,
    OffsetRange,
    TopicState,
    check_loaded,
)
from evenkey.pipeline.runs.driving.waiting import Awaited
from evenkey.pipeline.runs.output.spark_logs import COMMITS, OFFSETS, SparkLogs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from evenkey.kafka import Address, Offsets
    from evenkey.pipeline.options import KafkaOptions
    from evenkey.pipeline.runs.driving.waiting import Look
    from evenkey.pipeline.runs.output.directory import RunDirectory

_PATIENCE_MS = 120_000
"""How long a running query waits for an unreachable broker; Kafka's own readers wait that long."""
_LOOK_SECONDS = 5.0
_READ, _WRITTEN = "reads", "writes to"


class _Known(NamedTuple):
    """Topics that a run reads, or topics that it writes, with their state when the run started."""

    role: str
    address: Address
    admin: Admin
    states: dict[str, TopicState]


class RunTopics:
    """The topics that a run reads and writes.

    Parameters
    ----------
    known
        The topics, with their state at the start of the run.
    offsets
        The range of offsets to read; None if no topic is read.
    directory
        Directory of the run.
    committed
        Whether only committed records of transactions are read.
    """

    def __init__(
        self,
        known: list[_Known],
        offsets: OffsetRange | None,
        directory: RunDirectory,
        *,
        committed: bool,
    ) -> None:
        self._known = known
        self._committed = committed
        self.offsets = offsets
        self._directory = directory
        self._logs = SparkLogs(directory.checkpoint_files)

    @property
    def source(self) -> Admin:
        """The admin client for the servers of the topics that are read."""
        return next(each.admin for each in self._known if each.role == _READ)

    def looks(self) -> list[Look]:
        """Return a function that finds open transactions, if these can block the run."""
        return [HeldUp(self)] if self._committed and self.offsets is not None else []

    def check(self) -> None:
        """Check that each topic is still the same as at the start of the run.

        Raises
        ------
        RunError
            A topic is gone or was created again, or no broker answers.
        """
        try:
            fault = self._fault()
        except ConfigurationError as error:
            raise RunError(str(error)) from error
        if fault is not None:
            raise RunError(fault)

    def check_at_start(self) -> None:
        """Check that a run can continue with its topics.

        Raises
        ------
        ConfigurationError
            A topic is gone or was created again, or unread records were deleted.
        """
        fault = self._fault() or self._loss()
        if fault is not None:
            raise ConfigurationError(fault)

    @contextlib.contextmanager
    def faults_named(self) -> Iterator[None]:
        """If a topic caused the error of a query, raise an error that names the topic instead.

        Raises
        ------
        RunError
            A topic is gone or was created again, or records were deleted before they were read.
        """
        try:
            yield
        except Exception as error:
            fault = None
            with contextlib.suppress(Exception):
                fault = self._fault() or self._loss()
            if fault is None:
                raise
            raise RunError(fault) from error

    def read_up_to(self, log: str = OFFSETS) -> Offsets:
        """Return the end offsets of the newest epoch in one of Spark's logs.

        By default this is the newest epoch that has begun.
        """
        offsets = self.offsets
        start: Offsets = {} if offsets is None else offsets.start
        reached = OffsetRange.ends_of(self._logs.ends(self._logs.newest(log)))
        return {topic: {**start[topic], **reached.get(topic, {})} for topic in start}

    def _fault(self) -> str | None:
        """Describe how a topic differs from its recorded state; None if no topic differs."""
        for known in self._known:
            now = known.admin.topics(known.states)
            for topic, before in known.states.items():
                reason = _difference(before, now.get(topic))
                if reason is not None:
                    return self._explained(known, topic, reason)
        return None

    def _explained(self, known: _Known, topic: str, reason: str) -> str:
        place = f"topic {topic!r} at {known.address.servers}"
        if known.role == _READ:
            then = "the run's offsets point to old records: choose another output to read the topic"
        else:
            where = self._directory.path
            then = (
                f"it lacks the run's earlier records, which are also in {where}: choose another "
                "output, or restore the topic"
            )
        return f"{place} is not the topic that this run {known.role} ({reason}); {then}"

    def _loss(self) -> str | None:
        """Describe the records that were deleted before they were read; None if none were."""
        if self.offsets is None:
            return None
        states = next(each.states for each in self._known if each.role == _READ)
        partitions = {topic: state.partitions for topic, state in states.items()}
        earliest = self.source.offsets(partitions, "earliest")
        ends = self.offsets.end
        lost, total = [], 0
        for topic, numbers in self.read_up_to(COMMITS).items():
            for number, position in sorted(numbers.items()):
                end = earliest[topic].get(number, 0)
                if ends is not None:
                    end = min(end, ends[topic].get(number, 0))
                if end > position:
                    lost.append(f"{topic}, partition {number}: offsets {position} to {end - 1}")
                    total += end - position
        if not lost:
            return None
        return (
            f"up to {total:,} records were deleted from the topic before they were read "
            f"({'; '.join(lost)}): this run cannot read them, and its results end before them; "
            "increase the topic's retention (retention.ms), and read the rest with another "
            "output"
        )


def _difference(before: TopicState, now: TopicState | None) -> str | None:
    if now is None:
        return "it was deleted"
    if before.id and now.id and before.id != now.id:
        return f"it was deleted and created again: its id was {before.id} and is now {now.id}"
    if now.partitions < before.partitions:
        return (
            f"it was deleted and created again: it had {before.partitions} partitions and now has "
            f"{now.partitions}"
        )
    return None


class HeldUp:
    """Finds partitions in which an open transaction keeps a run from reading on.

    Parameters
    ----------
    topics
        The topics of the run.
    """

    def __init__(self, topics: RunTopics) -> None:
        self._topics = topics
        self._next = 0.0
        self._stood: dict[tuple[str, int], tuple[int, float]] = {}
        self._found: Awaited | None = None

    def __call__(self) -> Awaited | None:
        """Return the transaction that the run waits for; None if the run waits for none."""
        if time.monotonic() >= self._next:
            try:
                self._found = self._look()
            except EvenkeyError:
                self._found = None  # the query itself reports an unreachable broker
            self._next = time.monotonic() + _LOOK_SECONDS
        return self._found

    def _look(self) -> Awaited | None:
        topics, offsets = self._topics, self._topics.offsets
        if offsets is None:
            return None
        at = topics.read_up_to()
        counts = {topic: max(numbers, default=-1) + 1 for topic, numbers in at.items()}
        stable = topics.source.offsets(counts, "stable")
        latest = topics.source.offsets(counts, "latest")
        wanted = latest if offsets.end is None else offsets.end
        held = [
            (topic, number)
            for topic, numbers in at.items()
            for number, position in numbers.items()
            if stable[topic][number] < latest[topic][number]
            and stable[topic][number] <= position < wanted[topic].get(number, 0)
        ]
        self._stand(held, stable)
        if not self._stood:
            return None
        (topic, number), (offset, since) = min(self._stood.items(), key=lambda each: each[1][1])
        others = f", and {len(held) - 1} more partitions" if len(held) > 1 else ""
        return Awaited(
            "waiting for a transaction",
            f": {self._who(topic, number, since)} holds up topic {topic!r}, partition {number}, at "
            f"offset {offset}{others}: commit or abort the transaction; to read past it, choose a "
            "new output and isolation = 'read_uncommitted'",
        )

    def _stand(self, held: list[tuple[str, int]], stable: Offsets) -> None:
        """Record, for each blocked partition, the offset at which it is blocked, and since when."""
        now = time.time()
        before = self._stood
        self._stood = {}
        for place in held:
            offset = stable[place[0]][place[1]]
            stood = before.get(place)
            same = stood is not None and stood[0] == offset
            self._stood[place] = stood if stood is not None and same else (offset, now)

    def _who(self, topic: str, number: int, since: float) -> str:
        """Describe the oldest transaction in a partition, with its age."""
        found = self._topics.source.transactions(topic, number)
        if found and found[0].started is not None:
            age = max(0.0, time.time() - found[0].started)
            return f"transaction {found[0].name!r}, open for {age:.0f} s,"
        return f"a transaction, open for at least {time.time() - since:.0f} s,"


class _NoTopics:
    """The topics of a run that neither reads nor writes any."""

    def opened(
        self, spark: SparkSession, directory: RunDirectory
    ) -> contextlib.AbstractContextManager[_NoTopics]:
        """Return this object itself."""
        del spark, directory
        return contextlib.nullcontext(self)

    def looks(self) -> list[Look]:
        """Return no functions: the run waits for no topic."""
        return []

    def check(self) -> None:
        """Check nothing."""

    def faults_named(self) -> contextlib.AbstractContextManager[None]:
        """Leave errors as they are."""
        return contextlib.nullcontext()


NO_TOPICS = _NoTopics()


@dataclass(frozen=True)
class _NamedTopics:
    """The topics that options name."""

    options: KafkaOptions

    @contextlib.contextmanager
    def opened(self, spark: SparkSession, directory: RunDirectory) -> Iterator[RunTopics]:
        """Open the topics of a run, and record their state.

        Missing topics for results and dead letters are created with the broker's defaults when a
        run begins, because a producer would wait a minute for a missing topic.

        Yields
        ------
        RunTopics
            The topics at the start of the run.

        Raises
        ------
        ConfigurationError
            Spark has no Kafka connector, no broker answers, a topic to read does not exist or
            cannot be read, or the topics of a continued run have changed.
        RunError
            The run's record of its topics cannot be read.
        """
        options = self.options
        source, sink = options.source_address, options.sink_address
        check_loaded(spark)
        settings = ClientSettings.read(options.kafka_config)
        with contextlib.ExitStack() as stack:
            asked: list[tuple[str, Address, tuple[str, ...]]] = []
            if source is not None:
                asked.append((_READ, source, source.topics))
            if sink is not None:
                asked.append(
                    (_WRITTEN, sink, (sink.topic, options.resolved_dead_letters_topic(sink.topic)))
                )
            clients = {
                address.servers: stack.enter_context(Admin.open(spark, address, settings))
                for _, address, _ in asked
            }
            if not directory.begun:
                _begin(asked, clients, options, directory)
            states = _read_states(directory)
            known = [
                _Known(role, address, clients[address.servers], states[role])
                for role, address, _ in asked
            ]
            offsets = None
            if source is not None:
                offsets = OffsetRange.read(directory.store, directory.OFFSETS)
            topics = RunTopics(
                known, offsets, directory, committed=options.isolation == "read_committed"
            )
            topics.check_at_start()
            for client in clients.values():
                client.timeout_ms = _PATIENCE_MS
            yield topics


def topics_of(options: KafkaOptions | None) -> _NoTopics | _NamedTopics:
    """Return the topics that options name; None: the kind of run has no options for topics."""
    if options is None or (options.kafka is None and options.output_kafka is None):
        return NO_TOPICS
    return _NamedTopics(options)


def _begin(
    asked: list[tuple[str, Address, tuple[str, ...]]],
    clients: dict[str, Admin],
    options: KafkaOptions,
    directory: RunDirectory,
) -> None:
    """Create the output topics; record the state of all topics, and the offsets to read."""
    states: dict[str, dict[str, list[Any]]] = {}
    for role, address, names in asked:
        admin = clients[address.servers]
        if role == _WRITTEN:
            there = admin.names()
            missing = [name for name in names if name not in there]
            if missing:
                admin.create(missing)
        found = admin.existing_topics(names)
        states[role] = {name: [state.id, state.partitions] for name, state in found.items()}
        if role == _READ:
            start, follow = options.starting_offsets, options.follow
            offsets = OffsetRange.find(admin, address, start, follow=follow)
            directory.keep(directory.OFFSETS, offsets.to_json().encode())
    directory.keep(directory.TOPICS, json.dumps(states, indent=2, sort_keys=True).encode())


def _read_states(directory: RunDirectory) -> dict[str, dict[str, TopicState]]:
    try:
        content = json.loads(directory.store.read(directory.TOPICS))
        return {
            role: {name: TopicState(*state) for name, state in topics.items()}
            for role, topics in content.items()
        }
    except (OSError, ValueError, TypeError, AttributeError) as error:
        path = directory.store.path(directory.TOPICS)
        message = f"{path} cannot be read ({error}): choose another output"
        raise RunError(message) from error
