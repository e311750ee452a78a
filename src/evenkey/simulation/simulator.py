"""The simulator: it routes a stream from sources to workers, message by message in order."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, get_args

from evenkey.core.checking import check_workers, shown
from evenkey.core.errors import ConfigurationError
from evenkey.core.spelling import unknown_name
from evenkey.core.streams import FileStream, KeyStream
from evenkey.groupings import By, limited, parse
from evenkey.simulation.estimation import parse_estimation
from evenkey.simulation.feeding import Feeding
from evenkey.simulation.key_frequencies import frequencies
from evenkey.simulation.key_hashes import KeyHashes
from evenkey.simulation.report import SimulationReport
from evenkey.simulation.series import Series
from evenkey.simulation.source_routers import Messages
from evenkey.simulation.system import System

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from evenkey.core.streams import MessageBatch, MessageStream
    from evenkey.groupings import Grouping
    from evenkey.simulation.estimation import Estimation
    from evenkey.simulation.feeding import Feed
    from evenkey.simulation.key_hashes import HashName

_BATCH_MESSAGES = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A grouping to simulate, with all other options of the simulation.

    Parameters
    ----------
    grouping, workers, sources, readers, feed, estimation, hash, route_by, observe_by
        As for `simulate`.
    agreement, samples, epoch_messages, replication
        As for `simulate`.

    Raises
    ------
    ConfigurationError
        A name or a spelling is unknown, or a number is out of range.

    Examples
    --------
    >>> Setting("pkg", workers=10).parsed_grouping.router(10).workers
    10
    """

    grouping: Grouping | str = field(kw_only=False)
    workers: int = 50
    sources: int = 5
    readers: int = 1
    feed: Feed = "shuffle"
    estimation: Estimation | str = "local"
    hash: HashName = "xxhash64"
    route_by: By = "messages"
    observe_by: By = "messages"
    agreement: bool = False
    samples: int = 200
    epoch_messages: int | None = None
    replication: bool = True

    def __post_init__(self) -> None:
        check_workers(self.workers)
        _ = self.parsed_grouping, self.parsed_estimation
        for name, by in (("route_by", self.route_by), ("observe_by", self.observe_by)):
            if by not in get_args(By):
                unknown = unknown_name(name, by, get_args(By))
                raise unknown

    @cached_property
    def parsed_grouping(self) -> Grouping:
        """The grouping, read from its spelling."""
        return parse(self.grouping)

    @cached_property
    def parsed_estimation(self) -> Estimation:
        """The estimation, read from its spelling."""
        return parse_estimation(self.estimation)


def simulate(  # noqa: PLR0913 - each is an option of the command
    stream: MessageStream,
    grouping: Grouping | str,
    *,
    workers: int = 50,
    sources: int = 5,
    readers: int = 1,
    feed: Feed = "shuffle",
    estimation: Estimation | str = "local",
    hash: HashName = "xxhash64",  # noqa: A002 - the option's name
    route_by: By = "messages",
    observe_by: By = "messages",
    agreement: bool = False,
    samples: int = 200,
    epoch_messages: int | None = None,
    replication: bool = True,
    on_progress: Callable[[int], None] | None = None,
) -> SimulationReport:
    """Simulate S sources that route a stream to the same W workers.

    The clock is the stream's event time. Messages are routed in their order in the stream, so all
    figures except figures of speed depend only on the arguments, and not on how the stream is cut
    into batches. Memory depends on the number of distinct keys, not on the stream's length.

    Parameters
    ----------
    stream
        A generated stream, or one that reads files.
    grouping
        A grouping or its spelling. If the grouping needs the frequencies of keys in advance, the
        stream is counted first, so that the frequencies are exact. If the grouping plans epochs, it
        gets what its sources learned in an epoch at the end of that epoch. If the grouping counts
        an epoch before it routes the epoch, the epoch is held in memory. The routers of all other
        groupings keep their state for the whole stream.
    workers
        Number of workers, W.
    sources
        Number of sources, S.
    readers
        Number of readers, from which the sources get their messages: see `feed`.
    feed
        ``shuffle``: reader i mod R reads message i, and each of the R readers passes its messages
        to the sources in turn; with one reader message i goes to source i mod S. ``key``: a hash
        of the message's sender chooses the source; if the stream has no senders, a hash of the
        message's key.
    estimation
        What sources know about the loads of workers. ``local``: each source knows only the loads
        that it sent itself. ``global``: one router routes the whole stream by the true loads.
        ``probing(SECONDS)``: as ``local``, but all sources read the true loads at intervals of this
        length in event time (PKG paper, sections 3.2 and 6.2).
    hash
        ``xxhash64``, as on Spark, or ``murmur3``, as in the papers.
    route_by
        How routers count a message, in the loads by which they choose workers and in the
        frequencies of keys. ``messages``: as 1. ``weights``: as its weight, which is in `counts` of
        the stream.
    observe_by
        How metrics count a message, in loads, in imbalance and in all figures computed from these:
        ``messages`` or ``weights``, as for `route_by`.
    agreement
        Whether to compare all decisions with the decisions under global estimation, and report how
        many agree. Every message is then routed twice.
    samples
        Number of points in the series of the report.
    epoch_messages
        Number of messages of an epoch. None: no epochs.
    replication
        Whether to count which workers hold each key. This takes most of the memory and, if the
        stream has many keys, most of the time. If False, keys, pairs, DistCost and all figures
        computed from these are NaN, and None in JSON.
    on_progress
        Called with the number of messages routed so far. None: never.

    Returns
    -------
    SimulationReport
        The figures. `metrics` says how messages were spread over workers, `series` has the
        imbalance over time, `epochs` the metrics of each epoch, and `to_json` returns the figures
        by the names of the command line.

    Raises
    ------
    ConfigurationError
        A name or a spelling is unknown, a number is out of range, or `estimation` probes loads
        and the grouping does not use loads.

    Examples
    --------
    >>> from evenkey import generated
    >>> stream = generated("country-skew-r80", messages=1000)
    >>> report = simulate(stream, "kg", workers=10)
    >>> report.to_json()["max_over_mean"], report.to_json()["dist_cost"]
    (7.95, 1.0)
    """
    setting = Setting(
        grouping,
        workers=workers,
        sources=sources,
        readers=readers,
        feed=feed,
        estimation=estimation,
        hash=hash,
        route_by=route_by,
        observe_by=observe_by,
        agreement=agreement,
        samples=samples,
        epoch_messages=epoch_messages,
        replication=replication,
    )
    (report,) = simulate_all(stream, [setting], on_progress=on_progress)
    return report


def simulate_all(
    stream: MessageStream,
    settings: Sequence[Setting],
    *,
    on_progress: Callable[[int], None] | None = None,
) -> list[SimulationReport]:
    """Simulate several settings in one pass over a stream, which is read and hashed only once.

    Each report has the figures that `simulate` returns for its setting, except that `seconds` is
    the duration of the whole pass. Memory is the sum of the memory of all settings.

    Parameters
    ----------
    stream
        A generated stream, or one that reads files.
    settings
        At least one setting.
    on_progress
        Called with the number of messages that all settings have routed so far. None: never.

    Returns
    -------
    list of SimulationReport
        In the order of the settings.

    Raises
    ------
    ConfigurationError
        As for `simulate`, or `settings` is empty.

    Examples
    --------
    >>> from evenkey.core.streams import generated
    >>> stream = generated("country-skew-r80", messages=1000)
    >>> settings = [Setting(grouping, workers=10) for grouping in ("kg", "sg")]
    >>> [report.metrics.max_over_mean for report in simulate_all(stream, settings)]
    [7.95, 1.0]
    """
    start = time.perf_counter()
    if not isinstance(getattr(stream, "name", None), str) or not hasattr(stream, "batches"):
        message = f"stream = {shown(stream)}: pass a stream, such as generated('uniform(keys=100)')"
        raise ConfigurationError(message)
    if not settings:
        message = "settings = []: pass at least one Setting"
        raise ConfigurationError(message)
    hashes: dict[HashName, KeyHashes] = {}
    for each in settings:
        hashes.setdefault(each.hash, KeyHashes(stream, each.hash))
    # Constructed before the stream is read, so that invalid settings are reported first.
    feedings = [Feeding(each.feed, each.sources, each.readers) for each in settings]
    systems = [_system(stream, each) for each in settings]
    _plan(stream, settings, systems, hashes)
    for done in _run(stream, settings, systems, feedings, hashes):
        if on_progress is not None:
            on_progress(done)
    seconds = time.perf_counter() - start
    return [
        _report(stream, setting, system, seconds)
        for setting, system in zip(settings, systems, strict=True)
    ]


def _system(stream: MessageStream, setting: Setting) -> System:
    return System(
        setting.parsed_grouping,
        setting.parsed_estimation,
        workers=setting.workers,
        sources=setting.sources,
        series=Series(setting.samples, getattr(stream, "length", None)),
        epoch_messages=setting.epoch_messages,
        agreement=setting.agreement,
        replication=setting.replication,
    )


def _plan(
    stream: MessageStream,
    settings: Sequence[Setting],
    systems: Sequence[System],
    hashes: dict[HashName, KeyHashes],
) -> None:
    """Pass key frequencies to the systems that need them; count once per hash and `route_by`."""
    counted: dict[tuple[HashName, By], tuple[NDArray[np.uint64], NDArray[np.float64]]] = {}
    for setting, system in zip(settings, systems, strict=True):
        # Without epochs, the whole stream is one epoch, so all of it is counted before it is
        # routed.
        counts_first = setting.parsed_grouping.counts_first({})
        if counts_first and setting.epoch_messages:
            continue
        if counts_first or setting.parsed_grouping.given_frequencies:
            way = setting.hash, setting.route_by
            if way not in counted:
                counted[way] = frequencies(
                    stream, hashes[setting.hash], by=setting.route_by, size=_BATCH_MESSAGES
                )
            system.plan(*counted[way])


def _run(
    stream: MessageStream,
    settings: Sequence[Setting],
    systems: Sequence[System],
    feedings: Sequence[Feeding],
    hashes: dict[HashName, KeyHashes],
) -> Iterator[int]:
    """Run all systems over the stream together; each system takes one batch in turn."""
    hashed = (
        (batch, {name: each.of(batch) for name, each in hashes.items()})
        for batch in stream.batches(_BATCH_MESSAGES)
    )
    # `tee` holds what one system has read and another has not yet read: a batch, or an epoch if the
    # first system counts an epoch before it routes the epoch.
    runs = [
        system.run(_messages(copy, setting, feeding))
        for copy, setting, system, feeding in zip(
            itertools.tee(hashed, len(settings)), settings, systems, feedings, strict=True
        )
    ]
    first, others = runs[0], list(zip(systems[1:], runs[1:], strict=True))
    for goal in first:
        for system, run in others:
            # No system gets ahead of the first, or else `tee` might hold the whole stream.
            while system.account.messages < goal:
                next(run)
        yield goal
    for _, run in others:
        # All messages are routed already; this call only ends the last epoch.
        next(run, None)


def _messages(
    batches: Iterator[tuple[MessageBatch, dict[HashName, NDArray[np.uint64]]]],
    setting: Setting,
    feeding: Feeding,
) -> Iterator[Messages]:
    """Yield the messages of the stream as one system gets them, with weights and sources."""
    for batch, hashes in batches:
        keys = hashes[setting.hash]
        weights = limited(batch.counts)
        routed, observed = (
            weights if by == "weights" else None for by in (setting.route_by, setting.observe_by)
        )
        origins = feeding.sources_of(keys, batch.senders)
        yield Messages(keys, batch.times, routed, origins, observed)


def _report(
    stream: MessageStream, setting: Setting, system: System, seconds: float
) -> SimulationReport:
    return SimulationReport(
        setting={
            "dataset": stream.name,
            "grouping": str(setting.parsed_grouping),
            "workers": setting.workers,
            "sources": setting.sources,
            "readers": setting.readers,
            "feed": setting.feed,
            "estimation": str(setting.parsed_estimation),
            "hash": setting.hash,
            "route_by": setting.route_by,
            "observe_by": setting.observe_by,
            "seed": stream.seed if isinstance(stream, KeyStream) else None,
            "rate": stream.per_second if isinstance(stream, KeyStream | FileStream) else None,
            "epoch_messages": setting.epoch_messages,
        },
        metrics=system.placement.metrics(system.account.messages, system.account.average_imbalance),
        rejected=stream.rejected if isinstance(stream, FileStream) else 0,
        messages_held=system.account.messages_held,
        average_imbalance=system.account.average_imbalance,
        series=system.account.series(),
        epochs=tuple(system.placement.epochs),
        agreement=system.agreement,
        seconds=seconds,
        routing_seconds=system.sources.seconds,
        memory_bytes=system.sources.memory_bytes,
    )
