"""The simulator: a stream through sources to workers, message by message in order."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, get_args

from evenkey.checking import check_workers, shown
from evenkey.errors import ConfigurationError
from evenkey.groupings import By, limited, parse
from evenkey.simulation.estimation import parse_estimation
from evenkey.simulation.feeding import Feeding
from evenkey.simulation.frequencies import frequencies
from evenkey.simulation.key_hashes import KeyHashes
from evenkey.simulation.report import SimulationReport
from evenkey.simulation.series import Series
from evenkey.simulation.sources import Messages
from evenkey.simulation.system import System
from evenkey.spelling import unknown_name
from evenkey.streams import FileStream, KeyStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenkey.groupings import Grouping
    from evenkey.simulation.estimation import Estimation
    from evenkey.simulation.feeding import Feed
    from evenkey.simulation.key_hashes import HashName
    from evenkey.streams import MessageStream

_BATCH_MESSAGES = 1 << 16


def simulate(  # noqa: PLR0913 - each is an option of the command
    stream: MessageStream,
    grouping: Grouping | str,
    *,
    workers: int = 50,
    sources: int = 5,
    feed: Feed = "shuffle",
    estimation: Estimation | str = "local",
    hash: HashName = "xxhash64",  # noqa: A002 - the option's name
    route_by: By = "messages",
    observe_by: By = "messages",
    agreement: bool = False,
    samples: int = 200,
    epoch_messages: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> SimulationReport:
    """Route a stream as S sources do that all send to the same W workers.

    The clock is the stream's event time. Messages are routed in their order in the stream, so
    all figures but those of speed are a function of the arguments alone, however the stream is
    cut into batches. Memory goes by the stream's distinct keys, not by its length.

    Parameters
    ----------
    stream
        A generated stream, or users' files.
    grouping
        A grouping or its spelling. One that is given the frequencies of keys gets the exact
        ones: the stream is counted first. One that plans epochs is given at the end of each what
        its sources learned in it; if it wants the next epoch counted first, that one is held in
        memory. The routers of all others live as long as the stream.
    workers, sources
        How many there are, W and S.
    feed
        ``shuffle``: message i comes to source i mod S. ``key``: to one by a hash of who sends
        it, or of its key where the stream has no senders.
    estimation
        ``local``, ``global`` or ``probing(SECONDS)``: see `Local`, `Global`, `Probing`.
    hash
        ``xxhash64``, as on Spark, or ``murmur3``, as in the papers.
    route_by
        Whether a message counts as 1 or as much as it weighs (its `counts`) for routers: in the
        loads by which they choose, and in how frequent they take its key for.
    observe_by
        Whether it does in the books: in loads and imbalance, and in all figures made of them.
    agreement
        Whether to compare all decisions with those under global estimation, at the price of
        routing twice: see `Agreement`.
    samples
        Points of the series.
    epoch_messages
        Messages of an epoch; None is no epochs.
    on_progress
        Called with the messages so far.

    Returns
    -------
    SimulationReport

    Raises
    ------
    ConfigurationError
        A spelling or a number is none that there is, or loads are to be probed for a grouping
        that does not go by them.

    Examples
    --------
    >>> from evenkey.streams import generated
    >>> stream = generated("country-skew-r80", messages=1000)
    >>> report = simulate(stream, "kg", workers=10)
    >>> report.to_json()["max_over_mean"], report.to_json()["dist_cost"]
    (7.95, 1.0)
    """
    start = time.perf_counter()
    if not isinstance(getattr(stream, "name", None), str) or not hasattr(stream, "batches"):
        message = f"stream = {shown(stream)}: pass a stream; generated('zipf') makes one"
        raise ConfigurationError(message)
    check_workers(workers)
    grouping, estimation = parse(grouping), parse_estimation(estimation)
    for name, by in (("route_by", route_by), ("observe_by", observe_by)):
        if by not in get_args(By):
            unknown = unknown_name(name, by, get_args(By))
            raise unknown
    hashes, feeding = KeyHashes(stream, hash), Feeding(feed, sources)
    system = System(
        grouping,
        estimation,
        workers=workers,
        sources=sources,
        series=Series(samples, stream.length if isinstance(stream, KeyStream) else None),
        epoch_messages=epoch_messages,
        agreement=agreement,
    )
    # Without epochs, to count the next one first is to count the whole stream.
    counts_first = grouping.counts_first({})
    if (grouping.given_frequencies or counts_first) and not (counts_first and epoch_messages):
        system.plan(*frequencies(stream, hashes, by=route_by, size=_BATCH_MESSAGES))
    for done in system.run(_messages(stream, hashes, feeding, route_by, observe_by)):
        if on_progress is not None:
            on_progress(done)
    return SimulationReport(
        setting={
            "dataset": stream.name,
            "grouping": str(grouping),
            "workers": workers,
            "sources": sources,
            "feed": feed,
            "estimation": str(estimation),
            "hash": hash,
            "route_by": route_by,
            "observe_by": observe_by,
            "seed": stream.seed if isinstance(stream, KeyStream) else None,
            "rate": stream.per_second if isinstance(stream, KeyStream | FileStream) else None,
            "epoch_messages": epoch_messages,
        },
        metrics=system.placement.metrics(system.account.messages, system.account.average_imbalance),
        rejected=stream.rejected if isinstance(stream, FileStream) else 0,
        messages_held=system.account.messages_held,
        average_imbalance=system.account.average_imbalance,
        series=system.account.series(),
        epochs=tuple(system.placement.epochs),
        agreement=system.agreement,
        seconds=time.perf_counter() - start,
        routing_seconds=system.sources.seconds,
        memory_bytes=system.sources.memory_bytes,
    )


def _messages(
    stream: MessageStream, hashes: KeyHashes, feeding: Feeding, route_by: By, observe_by: By
) -> Iterator[Messages]:
    """Give the stream on its way: keys hashed, each message with its weights and its source."""
    for batch in stream.batches(_BATCH_MESSAGES):
        keys = hashes.of(batch)
        origins = feeding.sources_of(keys, batch.senders)
        weights = limited(batch.counts)
        routed, observed = (weights if by == "weights" else None for by in (route_by, observe_by))
        yield Messages(keys, batch.times, routed, origins, observed)
