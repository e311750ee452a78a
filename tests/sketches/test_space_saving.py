"""SpaceSaving: the kernel equals its naive version, and keeps the guarantees."""

from __future__ import annotations

import pickle
import struct
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import cloudpickle

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.sketches import SpaceSaving
from tests.sketches.naive import naive_space_saving

# Few small keys and capacities make evictions, ties and long probe sequences common; the
# largest key checks that nothing treats keys as signed.
KEYS = st.one_of(st.integers(0, 20), st.sampled_from([2**64 - 1, 2**63, 2**32]))
MESSAGES = st.lists(st.tuples(KEYS, st.integers(0, 9)), max_size=150)
CAPACITIES = st.integers(1, 12)


def sketch_of(capacity: int, messages: list[tuple[int, int]]) -> SpaceSaving:
    sketch = SpaceSaving(capacity)
    keys = np.array([key for key, _ in messages], dtype=np.uint64)
    sketch.update(keys, np.array([weight for _, weight in messages], dtype=np.int64))
    return sketch


def held_by(sketch: SpaceSaving) -> dict[int, tuple[float, float]]:
    return {key: (count, error) for key, count, error in sketch.items().tolist()}


def true_weights(messages: list[tuple[int, int]]) -> Counter[int]:
    weights: Counter[int] = Counter()
    for key, weight in messages:
        weights[key] += weight
    return weights


def assert_guarantees(
    sketch: SpaceSaving, truth: dict[int, Fraction] | Counter[int], slack: float = 0.0
) -> None:
    held = held_by(sketch)
    bound = sketch.total / sketch.capacity + slack
    assert len(held) <= sketch.capacity
    assert sketch.floor <= bound
    for key, (count, error) in held.items():
        assert count - error - slack <= truth.get(key, 0) <= count + slack
        assert 0 <= error <= sketch.floor + slack
    for key, weight in truth.items():
        if key not in held:
            assert weight <= sketch.floor + slack
        if weight > bound:
            assert key in held


@given(CAPACITIES, MESSAGES)
def test_kernel_equals_naive_twin(capacity: int, messages: list[tuple[int, int]]) -> None:
    sketch = sketch_of(capacity, messages)
    assert held_by(sketch) == naive_space_saving(capacity, messages)
    assert sketch.total == sum(weight for _, weight in messages)


def test_kernel_equals_naive_twin_on_a_skewed_stream() -> None:
    keys = np.random.default_rng(5).zipf(1.2, 30_000).astype(np.uint64)
    sketch = SpaceSaving(200)
    sketch.update(keys)
    assert held_by(sketch) == naive_space_saving(200, ((int(key), 1) for key in keys))


@given(CAPACITIES, MESSAGES)
def test_guarantees(capacity: int, messages: list[tuple[int, int]]) -> None:
    assert_guarantees(sketch_of(capacity, messages), true_weights(messages))


@given(CAPACITIES, MESSAGES, st.integers(0, 150))
def test_any_cut_into_batches_gives_the_same(
    capacity: int, messages: list[tuple[int, int]], cut: int
) -> None:
    whole = sketch_of(capacity, messages)
    parts = sketch_of(capacity, messages[:cut])
    keys = np.array([key for key, _ in messages[cut:]], dtype=np.uint64)
    parts.update(keys, [weight for _, weight in messages[cut:]])
    assert parts == whole


@given(CAPACITIES, MESSAGES, MESSAGES, MESSAGES)
def test_merge_keeps_the_guarantees_of_the_sum(
    capacity: int,
    first: list[tuple[int, int]],
    second: list[tuple[int, int]],
    later: list[tuple[int, int]],
) -> None:
    one, other = sketch_of(capacity, first), sketch_of(capacity, second)
    merged = one.merge(other)
    assert merged == other.merge(one)
    assert merged.total == one.total + other.total
    assert_guarantees(merged, true_weights(first + second))
    # A merged sketch can continue to count and merge.
    merged.update([key for key, _ in later], [weight for _, weight in later])
    assert_guarantees(merged, true_weights(first + second + later))
    twice = merged.merge(sketch_of(capacity, later))
    assert_guarantees(twice, true_weights(first + second + later + later))


@given(CAPACITIES, MESSAGES)
def test_merge_with_an_empty_sketch_changes_nothing(
    capacity: int, messages: list[tuple[int, int]]
) -> None:
    sketch = sketch_of(capacity, messages)
    assert sketch.merge(SpaceSaving(capacity)) == sketch


@given(CAPACITIES, MESSAGES, MESSAGES, st.sampled_from([0.5, 0.9, 1.0, 0.01]))
def test_decay_scales_and_keeps_the_guarantees(
    capacity: int, first: list[tuple[int, int]], second: list[tuple[int, int]], factor: float
) -> None:
    sketch = sketch_of(capacity, first)
    before = held_by(sketch)
    sketch.decay(factor)
    assert held_by(sketch) == {
        key: (count * factor, error * factor) for key, (count, error) in before.items()
    }
    sketch.update([key for key, _ in second], [weight for _, weight in second])
    truth = {key: weight * Fraction(factor) for key, weight in true_weights(first).items()}
    for key, weight in true_weights(second).items():
        truth[key] = truth.get(key, Fraction(0)) + weight
    assert_guarantees(sketch, truth, slack=1e-9)


def test_decay_to_nothing_keeps_evicting() -> None:
    sketch = SpaceSaving(2)
    sketch.update([1, 2])
    for _ in range(4):
        sketch.decay(1e-300)
    sketch.update([3, 4, 5])
    assert held_by(sketch) == {4: (1.0, 0.0), 5: (2.0, 1.0)}


@given(CAPACITIES, MESSAGES, MESSAGES)
def test_bytes_and_pickle_restore_a_sketch_that_goes_on_alike(
    capacity: int, before: list[tuple[int, int]], after: list[tuple[int, int]]
) -> None:
    sketch = sketch_of(capacity, before)
    restored = SpaceSaving.from_bytes(sketch.to_bytes())
    unpickled = pickle.loads(pickle.dumps(sketch))
    by_spark = pickle.loads(cloudpickle.dumps(sketch))
    for one in (sketch, restored, unpickled, by_spark):
        one.update([key for key, _ in after], [weight for _, weight in after])
    assert sketch == restored == unpickled == by_spark


def test_items_are_heaviest_first_and_ties_by_key() -> None:
    sketch = SpaceSaving(10)
    sketch.update([9, 3, 2**64 - 1, 5, 5])
    assert sketch.items()["key"].tolist() == [5, 3, 9, 2**64 - 1]
    assert sketch.top(2)["key"].tolist() == [5, 3]
    assert len(sketch.top(0)) == 0


@given(CAPACITIES, st.dictionaries(KEYS, st.integers(0, 9), max_size=12))
def test_known_counts_are_held_as_if_messages_had_been_counted(
    capacity: int, weights: dict[int, int]
) -> None:
    largest = sorted(weights.items(), key=lambda each: -each[1])[:capacity]
    keys = np.array([key for key, _ in largest], dtype=np.uint64)
    counts = np.array([count for _, count in largest], dtype=np.float64)
    known = SpaceSaving.of_counts(capacity, keys, counts)
    counted = sketch_of(capacity, largest)
    assert known == counted
    known.update([7, 8, 7])
    counted.update([7, 8, 7])
    assert known == counted
    assert known.merge(counted) == counted.merge(known)


def test_of_more_known_counts_the_largest_are_held() -> None:
    keys, counts = np.arange(5, dtype=np.uint64), np.array([3.0, 9.0, 0.0, 4.0, 3.0])
    sketch = SpaceSaving.of_counts(3, keys, counts)
    assert sketch.items().tolist() == [(1, 9.0, 0.0), (3, 4.0, 0.0), (4, 3.0, 0.0)]
    assert (sketch.total, sketch.floor) == (19.0, 3.0)


def test_update_leaves_its_input_alone() -> None:
    keys, weights = np.arange(5, dtype=np.uint64), np.ones(5, dtype=np.int64)
    keys.setflags(write=False)
    weights.setflags(write=False)
    sketch = SpaceSaving(3)
    sketch.update(keys, weights)
    assert sketch.total == 5


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_bad_weights_are_refused_before_anything_is_counted(weight: float) -> None:
    sketch = SpaceSaving(3)
    with pytest.raises(ConfigurationError, match="not negative"):
        sketch.update([1, 2], [1.0, weight])
    assert sketch.total == 0


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="capacity = 0"):
        SpaceSaving(0)
    with pytest.raises(ConfigurationError, match="2 keys but 1 weights"):
        SpaceSaving(3).update([1, 2], [1])
    with pytest.raises(ConfigurationError, match="capacity 3 and 4"):
        SpaceSaving(3).merge(SpaceSaving(4))
    for factor in (0.0, -1.0, 1.5, float("nan")):
        with pytest.raises(ConfigurationError, match="factor"):
            SpaceSaving(3).decay(factor)


def test_damaged_bytes_are_refused() -> None:
    sketch = SpaceSaving(3)
    sketch.update([1, 2, 3, 4])
    data = sketch.to_bytes()
    for damaged in (b"", data[:10], data[:-1], data + b"x", b"?" + data[1:]):
        with pytest.raises(RunError, match=r"SpaceSaving sketch \(\d+ bytes\) is corrupt"):
            SpaceSaving.from_bytes(damaged)


@pytest.mark.parametrize("count", [float("nan"), float("inf"), -1.0])
def test_counts_that_cannot_be_compared_are_refused(count: float) -> None:
    sketch = SpaceSaving(3)
    sketch.update([1, 2, 3], [3.0, 2.0, 1.0])
    data = sketch.to_bytes()
    last = struct.pack("<dd", 1.0, 0.0)
    assert data.endswith(last)
    with pytest.raises(RunError, match=r"SpaceSaving sketch \(\d+ bytes\) is corrupt"):
        SpaceSaving.from_bytes(data.removesuffix(last) + struct.pack("<dd", count, 0.0))


@pytest.mark.parametrize("capacity", [0, -1, 2.5, "7", True, 1 << 40])
def test_capacity_is_a_whole_number_in_range(capacity: object) -> None:
    with pytest.raises(ConfigurationError, match="capacity = "):
        SpaceSaving(capacity)  # type: ignore[arg-type]
