"""Simulate how policies move keyed state: loads, moves and time of each worker and epoch."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from evenkey.core.capacities import Capacities
from evenkey.core.checking import check_workers, number, shown, whole_number
from evenkey.core.errors import ConfigurationError
from evenkey.core.planners import load_per_location
from evenkey.core.streams import KeyStream
from evenkey.simulation.key_hashes import KeyHashes
from evenkey.simulation.partition_counts import counted_epochs
from evenkey.simulation.policies import Observed, parse_policy
from evenkey.simulation.policy_report import PolicyEpoch, PolicyReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from evenkey.core.streams import MessageStream
    from evenkey.simulation.key_hashes import HashName
    from evenkey.simulation.partition_counts import EpochCounts
    from evenkey.simulation.policies import Policy

_PARTITIONS_A_WORKER = 16
_BYTES_A_MB = 1e6
_MS = 1000.0


@dataclass(frozen=True, kw_only=True)
class MoveCosts:
    """The cost model of simulated keyed state.

    A worker with capacity c works ``message_ms / c`` on a message. A worker that gets partitions
    reads their states before it works: this takes `partition_ms` for each partition, and the time
    that the bytes take. The state of a key has `key_bytes`, and `message_bytes` more for each
    message that the key has had.

    Parameters
    ----------
    message_ms
        Work on a message by a worker with capacity 1, in milliseconds.
    key_bytes
        Bytes of a state, without those that messages add.
    message_bytes
        Bytes that each message adds to the state of its key.
    read_mb_per_second
        Megabytes (10**6 bytes) of states that a worker reads per second.
    partition_ms
        Milliseconds that reading takes for each partition, in addition to the bytes.

    Raises
    ------
    ConfigurationError
        A cost is negative or not finite, or `read_mb_per_second` is not above 0.

    Examples
    --------
    Two partitions with 10 MB in total take 10 ms each, and 200 ms for the bytes.

    >>> MoveCosts().read_ms(np.array([2.0, 0.0]), np.array([10e6, 0.0])).tolist()
    [220.0, 0.0]
    """

    message_ms: float = 1.0
    key_bytes: float = 100.0
    message_bytes: float = 0.0
    read_mb_per_second: float = 50.0
    partition_ms: float = 10.0

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name == "read_mb_per_second":
                number(each.name, value, above=0)
            else:
                number(each.name, value, least=0)

    def sizes(self, keys: NDArray[np.int64], messages: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the bytes of states from their numbers of keys and of messages so far."""
        by_key = self.key_bytes * keys.astype(np.float64)
        return by_key + self.message_bytes * messages.astype(np.float64)

    def read_ms(
        self, partitions: NDArray[np.float64], sizes: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the milliseconds in which workers read so many partitions and bytes each."""
        return self.partition_ms * partitions + _MS * sizes / (
            _BYTES_A_MB * self.read_mb_per_second
        )


def simulate_policies(
    stream: MessageStream,
    policies: Sequence[Policy | str],
    *,
    workers: int,
    epoch_messages: int,
    partitions: int | None = None,
    capacities: str | Iterable[float] | None = None,
    costs: MoveCosts | None = None,
    hash: HashName = "xxhash64",  # noqa: A002 - the option's name
    on_progress: Callable[[int], None] | None = None,
) -> list[PolicyReport]:
    """Simulate a stream whose keys have states, under several policies, in one pass.

    The hash of a key, modulo P, is its state partition. Partition p is on worker ``p mod W`` at
    first. At the end of each epoch the policy learns the loads of the epoch, and may give
    partitions other owners. These read the states before they work on the next epoch. An epoch
    lasts as long as its slowest worker reads and works.

    Parameters
    ----------
    stream
        A generated stream, or one that reads files.
    policies
        At least one policy, or its spelling: ``hash``, ``restart``, ``mean`` or ``moves``.
    workers
        Number of workers, W.
    epoch_messages
        Number of messages of an epoch.
    partitions
        Number of state partitions, P, at least W. None: 16 per worker.
    capacities
        Relative capacity of each worker, such as ``"2:1:1"``: a worker with capacity 2 needs half
        the time for a message. None: 1 each.
    costs
        What work and moves cost. None: the defaults of `MoveCosts`.
    hash
        ``xxhash64``, as on Spark, or ``murmur3``, as in the papers.
    on_progress
        Called with the number of messages so far, after each epoch. None: never.

    Returns
    -------
    list of PolicyReport
        In the order of the policies.

    Raises
    ------
    ConfigurationError
        A name or a spelling is unknown, a number is out of range, `policies` is empty, or a policy
        returns owners that do not exist.

    Examples
    --------
    The country of 80 % of the messages is in one of 32 partitions. Others leave its worker.

    >>> from evenkey.core.streams import generated
    >>> stream = generated("country-skew-r80", messages=3000)
    >>> reports = simulate_policies(
    ...     stream, ["hash", "mean(min_improvement=0)"], workers=2, epoch_messages=1000
    ... )
    >>> [[epoch.loads.max().item() for epoch in report.epochs] for report in reports]
    [[894, 886, 886], [894, 789, 787]]
    """
    check_workers(workers)
    whole_number("epoch_messages", epoch_messages, 1)
    parts = _PARTITIONS_A_WORKER * workers if partitions is None else partitions
    whole_number("partitions", parts, workers)
    able = np.ones(workers) if capacities is None else Capacities(capacities).of(workers)
    if not policies:
        message = "policies = []: name at least one, such as hash"
        raise ConfigurationError(message)
    given = MoveCosts() if costs is None else costs
    runs = [_Run(parse_policy(each), parts, able, given) for each in policies]
    counts: EpochCounts | None = None
    done = 0
    for counts in counted_epochs(stream, KeyHashes(stream, hash), parts, epoch_messages):
        for run in runs:
            run.take(counts)
        done += int(counts.messages.sum())
        if on_progress is not None:
            on_progress(done)
    if counts is None:
        message = f"stream = {shown(stream.name)}: it has no messages; pass another stream"
        raise ConfigurationError(message)
    setting = {
        "dataset": stream.name,
        "workers": workers,
        "capacities": able.tolist(),
        "partitions": parts,
        "epoch_messages": epoch_messages,
        "hash": hash,
        "seed": stream.seed if isinstance(stream, KeyStream) else None,
        **vars(given),
    }
    states, size = int(counts.keys.sum()), float(given.sizes(counts.keys, counts.held).sum())
    return [
        PolicyReport({"policy": str(run.policy), **setting}, tuple(run.epochs), states, size)
        for run in runs
    ]


class _Run:
    """The workers of a stream under one policy."""

    def __init__(
        self, policy: Policy, partitions: int, capacities: NDArray[np.float64], costs: MoveCosts
    ) -> None:
        self.policy = policy
        self.epochs: list[PolicyEpoch] = []
        self._capacities = capacities
        self._costs = costs
        self._owners = (np.arange(partitions) % len(capacities)).astype(np.int32)
        self._before: EpochCounts | None = None
        self._unchanged = 0

    def take(self, counts: EpochCounts) -> None:
        """Let the policy decide by the previous epoch, then work on the next one."""
        before = self._before or counts
        states, sizes = before.keys, self._costs.sizes(before.keys, before.held)
        moved = np.zeros(len(states), dtype=bool)
        if self._before is not None:
            planned = self._planned(before, sizes)
            moved = planned != self._owners
            self._owners = planned
        self._unchanged = 1 if moved.any() else self._unchanged + 1
        stops = moved.any() and self.policy.pause is not None
        read = (moved | stops) & (states > 0)
        work = self._per_worker(counts.messages) * self._costs.message_ms / self._capacities
        fair = self._costs.message_ms * counts.messages.sum() / self._capacities.sum()
        hottest = self._costs.message_ms * counts.hottest / self._capacities.max()
        self.epochs.append(
            PolicyEpoch(
                epoch=len(self.epochs),
                loads=self._per_worker(counts.messages).astype(np.int64),
                work_ms=work,
                read_ms=self._costs.read_ms(self._per_worker(read), self._per_worker(sizes * read)),
                pause_ms=_MS * (self.policy.pause or 0.0) if stops else 0.0,
                max_over_fair=_ratio(work.max(), fair),
                max_over_limit=_ratio(work.max(), max(fair, hottest)),
                moved_states=int(states[moved].sum()),
                moved_messages=int(counts.messages[moved].sum()),
                read_bytes=float(sizes[read].sum()),
            )
        )
        self._before = counts

    def _planned(self, before: EpochCounts, sizes: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the owners that the policy chooses.

        Raises
        ------
        ConfigurationError
            They are not one worker for each partition.
        """
        messages, workers = before.messages.astype(np.float64), len(self._capacities)
        pace = self._costs.message_ms / _MS / self._capacities[self._owners]
        planned = self.policy.replan(
            Observed(
                self._owners.copy(), messages, messages * pace, sizes, workers, self._unchanged
            )
        )
        if planned is None:
            return self._owners
        owners = np.asarray(planned)
        if owners.shape != self._owners.shape or not np.isin(owners, np.arange(workers)).all():
            message = (
                f"policy {self.policy.name!r} returned {shown(planned)}: return a worker, 0 to "
                f"{workers - 1}, for each of the {len(self._owners)} partitions"
            )
            raise ConfigurationError(message)
        return owners.astype(np.int32)

    def _per_worker(self, values: NDArray[Any]) -> NDArray[np.float64]:
        return load_per_location(self._owners, values, len(self._capacities))


def _ratio(most: float, least: float) -> float:
    """Return ``most / least``; 1 if messages cost nothing."""
    return float(most / least) if least else 1.0
