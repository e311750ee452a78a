"""Checks that every grouping must pass, and that the author of a grouping can run."""

from __future__ import annotations

import pickle
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenkey.core.errors import ConfigurationError
from evenkey.groupings import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from evenkey.groupings import Grouping, Router

    Check = Callable[[Grouping], None]

_MESSAGES = 3000
_SECONDS = 300.0
_WORKERS = 7
_BYTES_A_KEY = 128


def yield_checks(grouping: Grouping) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the conformance checks of a grouping.

    Parameters
    ----------
    grouping
        A grouping of evenkey or of the user.

    Yields
    ------
    tuple
        The name of a check, and a function that raises AssertionError if the grouping fails it.

    Examples
    --------
    >>> from evenkey.groupings import PartialKeyGrouping
    >>> for name, check in yield_checks(PartialKeyGrouping()):
    ...     check()
    """
    for check in _CHECKS:
        yield check.__name__, partial(check, grouping)


def stream(
    messages: int = _MESSAGES, keys: int = 200, seed: int = 0
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Make a skewed test stream: hashes of keys, and times that span 300 s."""
    random = np.random.default_rng(seed)
    hashes = random.integers(0, 2**64, keys, dtype=np.uint64)
    ranks = np.minimum(random.zipf(1.4, messages) - 1, keys - 1)
    return hashes[ranks], np.linspace(0.0, _SECONDS, messages)


def weights_of_stream(messages: int = _MESSAGES, seed: int = 0) -> NDArray[np.int64]:
    """Make weights for a test stream: most are 1, some as large as 50."""
    return np.random.default_rng(seed).zipf(2.0, messages).clip(max=50)


def check_workers_are_in_range(grouping: Grouping) -> None:
    """Workers are int32, from 0 to W - 1, one per message."""
    keys, times = stream()
    for workers in (1, 2, _WORKERS, 100):
        routed = grouping.router(workers).route(keys, times)
        assert routed.dtype == np.int32
        assert routed.shape == keys.shape
        assert routed.min() >= 0
        assert routed.max() < workers


def check_one_worker_gets_everything(grouping: Grouping) -> None:
    """If there is one worker, it gets all messages."""
    keys, times = stream()
    assert not grouping.router(1).route(keys, times).any()


def check_empty_batch_changes_nothing(grouping: Grouping) -> None:
    """An empty batch does not change the router."""
    keys, times = stream()
    router, other = grouping.router(_WORKERS), grouping.router(_WORKERS)
    assert len(router.route(keys[:0], times[:0])) == 0
    np.testing.assert_array_equal(router.route(keys, times), other.route(keys, times))


def check_batch_equals_message_by_message(grouping: Grouping) -> None:
    """Routing a batch chooses the same workers as routing its messages one at a time."""
    keys, times = stream()
    whole = grouping.router(_WORKERS).route(keys, times)
    router = grouping.router(_WORKERS)
    single = [router.route(keys[i : i + 1], times[i : i + 1])[0] for i in range(len(keys))]
    np.testing.assert_array_equal(whole, single)


def check_any_cut_gives_the_same_result(grouping: Grouping) -> None:
    """Cutting a stream into batches at other places does not change the chosen workers."""
    messages = *stream(), weights_of_stream()
    whole = grouping.router(_WORKERS).route(*messages)
    for seed in range(5):
        cuts = np.sort(np.random.default_rng(seed).integers(0, len(whole), 6))
        router = grouping.router(_WORKERS)
        split = (np.split(part, cuts) for part in messages)
        parts = [router.route(*part) for part in zip(*split, strict=True)]
        np.testing.assert_array_equal(whole, np.concatenate(parts))


def check_routing_is_repeatable(grouping: Grouping) -> None:
    """Two routers of the same source choose the same workers."""
    keys, times = stream()
    for source in (0, 3):
        first, second = (grouping.router(_WORKERS, source).route(keys, times) for _ in range(2))
        np.testing.assert_array_equal(first, second)


def check_clone_is_independent(grouping: Grouping) -> None:
    """Routing with a clone does not change the original."""
    keys, times = stream()
    router = grouping.router(_WORKERS)
    router.route(keys[:1000], times[:1000])
    clone = router.clone()
    clone.route(keys[::-1][:500], np.full(500, times[1000]))
    _assert_goes_on_alike(router, _routed(grouping, 1000))


def check_pickling_keeps_state(grouping: Grouping) -> None:
    """A router that was pickled and loaded continues like the original."""
    keys, times = stream()
    router = grouping.router(_WORKERS)
    router.route(keys[:1000], times[:1000])
    # Loading is safe: the pickles were made here.
    _assert_goes_on_alike(pickle.loads(pickle.dumps(router)), router)  # noqa: S301
    assert pickle.loads(pickle.dumps(grouping)) == grouping  # noqa: S301


def check_snapshot_keeps_state(grouping: Grouping) -> None:
    """A restored router continues like the original, and does not change the snapshot."""
    router = _routed(grouping, 1000)
    snapshot = router.snapshot()
    restored = grouping.router(_WORKERS)
    restored.restore(snapshot)
    _assert_goes_on_alike(restored, router)
    again = grouping.router(_WORKERS)
    again.restore(snapshot)
    _assert_goes_on_alike(again, _routed(grouping, 1000))


def check_snapshot_holds_the_local_fields(grouping: Grouping) -> None:
    """A snapshot has the router's `local_fields`, which can be restored without other fields."""
    router = _routed(grouping, 100)
    snapshot = router.snapshot()
    router.restore({name: snapshot[name] for name in router.local_fields})


def check_input_is_left_alone(grouping: Grouping) -> None:
    """Routing does not change keys, times and weights, which may be read-only."""
    for writeable in (True, False):
        messages: tuple[NDArray[Any], ...] = (*stream(), weights_of_stream())
        for array in messages:
            array.flags.writeable = writeable
        grouping.router(_WORKERS).route(*messages)
        for array, as_before in zip(messages, (*stream(), weights_of_stream()), strict=True):
            np.testing.assert_array_equal(array, as_before)
            assert array.flags.writeable == writeable


def check_weights_of_one_are_no_weights(grouping: Grouping) -> None:
    """Messages that weigh 1 each are routed and counted like messages without weights."""
    keys, times = stream()
    weighted, plain = grouping.router(_WORKERS), grouping.router(_WORKERS)
    ones = np.ones(len(keys), dtype=np.int64)
    np.testing.assert_array_equal(weighted.route(keys, times, ones), plain.route(keys, times, None))
    np.testing.assert_equal(weighted.snapshot(), plain.snapshot())


def check_weights_are_counted(grouping: Grouping) -> None:
    """The local load of a worker is the sum of the weights of its messages."""
    keys, times = stream()
    weights = weights_of_stream()
    router = grouping.router(_WORKERS)
    routed = router.route(keys, times, weights)
    if "sent" in router.local_fields:
        loads = np.bincount(routed, weights, minlength=_WORKERS)
        np.testing.assert_array_equal(router.snapshot()["sent"], loads)


def check_bad_weights_are_refused(grouping: Grouping) -> None:
    """A weight below 1, or weights that do not fit the keys, raise a ConfigurationError."""
    keys, times = stream()
    router = grouping.router(_WORKERS)
    for weights in (np.zeros(len(keys), dtype=np.int64), np.ones(len(keys) - 1, dtype=np.int64)):
        try:
            router.route(keys, times, weights)
        except ConfigurationError:
            continue
        raise AssertionError(weights)
    _assert_goes_on_alike(router, grouping.router(_WORKERS))


def check_plan(grouping: Grouping) -> None:
    """Routers follow a plan made from key frequencies; a grouping without plans refuses to plan."""
    keys, times = stream()
    distinct, occurrences = np.unique(keys, return_counts=True)
    counts = occurrences.astype(np.float64)
    if not (grouping.given_frequencies or grouping.plans_epochs):
        try:
            grouping.plan(distinct, counts, _WORKERS)
        except ConfigurationError:
            return
        raise AssertionError(grouping)
    plan = grouping.plan(distinct, counts, _WORKERS)
    routers = [grouping.router(_WORKERS, source) for source in (0, 0, 0)]
    routers[0].remember(plan)
    # A plan depends only on the proportions of the counts, and not on the order of the keys.
    routers[1].remember(grouping.plan(distinct[::-1], 2 * counts[::-1], _WORKERS))
    planned, again, unplanned = (router.route(keys, times) for router in routers)
    np.testing.assert_array_equal(planned, again)
    assert (planned != unplanned).any()


def check_epochs_are_planned(grouping: Grouping) -> None:
    """An epoch with a plan is at least as balanced as without a plan, and repeats exactly.

    Frequencies in other proportions yield another plan. Planning the same frequencies again moves
    no key.
    """
    if not grouping.plans_epochs:
        return
    keys, times = stream(20 * _MESSAGES)
    distinct, occurrences = np.unique(keys, return_counts=True)
    counts = occurrences.astype(np.float64)
    memory = grouping.plan(distinct, counts, _WORKERS)
    assert not grouping.counts_first(memory) or grouping.counts_first({})
    routed = []
    for source in range(2):
        router = grouping.router(_WORKERS, source)
        router.remember(memory)
        routed.append(router.route(keys[source::2], times[source::2]))
    blind = [grouping.router(_WORKERS, s).route(keys[s::2], times[s::2]) for s in range(2)]
    planned, unplanned = (np.bincount(np.concatenate(each)).max() for each in (routed, blind))
    assert planned <= unplanned
    again = grouping.router(_WORKERS, 0)
    again.remember(grouping.replan(distinct, counts, _WORKERS, memory))
    np.testing.assert_array_equal(again.route(keys[::2], times[::2]), routed[0])
    other = grouping.router(_WORKERS, 0)
    other.remember(grouping.replan(distinct, counts[::-1], _WORKERS, memory))
    assert (other.route(keys[::2], times[::2]) != routed[0]).any()


def check_memory_is_bounded(grouping: Grouping) -> None:
    """The second half of a long stream takes at most twice as much memory as the first half.

    A grouping with `remembers_every_key` may take `_BYTES_A_KEY` bytes for each key.
    """
    router = grouping.router(_WORKERS)
    sizes = []
    for part in range(20):
        keys = np.arange(part * 2000, (part + 1) * 2000, dtype=np.uint64) * np.uint64(0x9E3779B9)
        router.route(keys, np.linspace(part * 60.0, part * 60.0 + 59.0, len(keys)))
        sizes.append(len(pickle.dumps(router)))
    if grouping.remembers_every_key:
        assert sizes[-1] <= 20 * 2000 * _BYTES_A_KEY
    else:
        assert max(sizes[10:]) <= 2 * max(sizes[:10])


def check_memory_carries_over(grouping: Grouping) -> None:
    """The memories of an epoch's routers are merged, and the next epoch starts from the result."""
    keys, times = stream()
    routers = [grouping.router(_WORKERS, source) for source in range(3)]
    for source, router in enumerate(routers):
        router.route(keys[source::3], times[source::3])
    memory = grouping.merge_memories([router.memory() for router in routers])
    assert bool(memory) == grouping.learns
    first, second = grouping.router(_WORKERS, 0), grouping.router(_WORKERS, 0)
    first.remember(memory)
    second.remember(memory)
    later = times + _SECONDS
    np.testing.assert_array_equal(first.route(keys, later), second.route(keys, later))
    alone = grouping.merge_memories([first.memory()])
    assert sorted(alone) == sorted(memory)


def check_spelling_round_trip(grouping: Grouping) -> None:
    """The text of a built-in grouping, such as ``pkg(variant=paper)``, restores it by `parse`."""
    if type(grouping).__module__.startswith("evenkey."):
        assert parse(str(grouping)) == grouping


def _routed(grouping: Grouping, messages: int) -> Router:
    keys, times = stream()
    router = grouping.router(_WORKERS)
    router.route(keys[:messages], times[:messages])
    return router


def _assert_goes_on_alike(router: Router, other: Router) -> None:
    keys, times = stream()
    np.testing.assert_array_equal(
        router.route(keys[1000:], times[1000:]), other.route(keys[1000:], times[1000:])
    )


_CHECKS: tuple[Check, ...] = (
    check_workers_are_in_range,
    check_one_worker_gets_everything,
    check_empty_batch_changes_nothing,
    check_batch_equals_message_by_message,
    check_any_cut_gives_the_same_result,
    check_routing_is_repeatable,
    check_clone_is_independent,
    check_pickling_keeps_state,
    check_snapshot_keeps_state,
    check_snapshot_holds_the_local_fields,
    check_input_is_left_alone,
    check_weights_of_one_are_no_weights,
    check_weights_are_counted,
    check_bad_weights_are_refused,
    check_plan,
    check_epochs_are_planned,
    check_memory_is_bounded,
    check_memory_carries_over,
    check_spelling_round_trip,
)
