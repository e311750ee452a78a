"""The planner equals its naive version, and plans keep their guarantees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.groupings.planned import make_plan, unplanned
from evenkey.groupings.planned.plan import Plan
from tests.groupings.planned import naive

TOLERANCE, STICKINESS = 0.005, 0.005
# Sums of multiples of 1/4 are exact, so that the kernel and the naive version have equal ties.
loads = st.integers(0, 4000).map(lambda quarters: quarters / 4)


@st.composite
def problems(draw):
    """Draw loads of keys and buckets for two plans, one after the other, on one to nine workers."""
    workers, buckets = draw(st.integers(1, 9)), draw(st.sampled_from([1, 4, 32]))
    keys = draw(st.lists(st.integers(0, 2**64 - 1), max_size=12, unique=True))
    lists = [st.lists(loads, min_size=n, max_size=n) for n in (len(keys), buckets) * 2]
    counts, rests, later_counts, later_rests = (np.array(draw(each)) for each in lists)
    capacities = draw(
        st.lists(st.sampled_from([1.0, 1.0, 2.0]), min_size=workers, max_size=workers)
    )
    keys = np.array(keys, dtype=np.uint64)
    return keys, (counts, rests), (later_counts, later_rests), np.array(capacities)


def places(plan, kind, name):
    if kind == "key" and name in plan.keys:
        row = int(np.searchsorted(plan.keys, np.uint64(name)))
        return plan.places[plan.starts[row] : plan.starts[row + 1]].tolist()
    return [int(plan.owners[int(name) % len(plan.owners)])]


def loads_as_before(keys, counts, rests, previous):
    """Return the loads of workers under the previous plan, key by key and bucket by bucket."""
    held = [0.0] * previous.workers
    for bucket, load in enumerate(rests.tolist()):
        held[previous.owners[bucket]] += load
    for key, load in zip(keys.tolist(), counts.tolist(), strict=True):
        workers, shares = places(previous, "key", key), [1.0]
        if len(workers) > 1:
            row = previous.keys.tolist().index(key)
            shares = previous.shares[previous.starts[row] : previous.starts[row + 1]].tolist()
        for worker, share in zip(workers, shares, strict=True):
            held[worker] += share * load
    return np.array(held)


def twin(keys, counts, rests, capacities, previous, *, stays):
    fair = capacities / capacities.sum() * np.concatenate((counts[np.argsort(keys)], rests)).sum()
    most = fair * (1 + TOLERANCE) + fair * STICKINESS
    if stays and (loads_as_before(keys, counts, rests, previous) <= most).all():
        items = [("key", key) for key in keys.tolist()]
        items += [("bucket", bucket) for bucket in range(len(rests))]
        return {item: places(previous, *item) for item in items}
    return naive.plan(
        dict(zip(keys.tolist(), counts.tolist(), strict=True)),
        rests.tolist(),
        (fair * (1 + TOLERANCE)).tolist(),
        (fair * STICKINESS).tolist(),
        lambda kind, name: places(previous, kind, name),
        stays=stays,
    )


@pytest.mark.slow(7)
@given(problems())
@settings(max_examples=20)
def test_some_plans_equal_their_twins(problem):
    compare_with_twin(problem)


@pytest.mark.soak(20)
@given(problems())
@settings(max_examples=60)
def test_plan_equals_its_twin(problem):
    compare_with_twin(problem)


def compare_with_twin(problem):
    keys, *epochs, capacities = problem
    previous = None
    for counts, rests in epochs:
        before = previous or unplanned(len(epochs[0][1]), len(capacities))
        expected = twin(keys, counts, rests, capacities, before, stays=previous is not None)
        previous = plan = make_plan(keys, counts, rests, capacities, previous)
        for (kind, name), pieces in expected.items():
            assert places(plan, kind, name) == list(pieces)


@pytest.mark.slow(7)
@given(problems())
@settings(max_examples=60)
def test_guarantees(problem):
    keys, *epochs, capacities = problem
    plan = None
    for counts, rests in epochs:
        plan = make_plan(keys, counts, rests, capacities, plan)
        fair = capacities / capacities.sum() * (counts.sum() + rests.sum())
        limit = fair * (1 + TOLERANCE + STICKINESS) + rests.max()
        assert (plan.loads <= limit * (1 + 1e-9) + 1e-9).all()
        assert plan.loads.sum() == pytest.approx(counts.sum() + rests.sum())
        assert plan.extra_pairs <= len(capacities) - 1
        for start, stop in zip(plan.starts, plan.starts[1:], strict=False):
            assert plan.shares[start:stop].sum() == pytest.approx(1.0)
            assert len(set(plan.places[start:stop])) == stop - start


def test_a_plan_for_the_same_loads_moves_nothing():
    random = np.random.default_rng(3)
    keys, counts = np.arange(50, dtype=np.uint64), 1000 / np.arange(1, 51)
    rests = random.integers(10, 20, 512).astype(np.float64)
    first = make_plan(keys, counts, rests, np.ones(8))
    again = make_plan(keys, counts, rests, np.ones(8), first)
    assert first.moved_buckets > 0
    assert (again.moved_keys, again.moved_buckets) == (0, 0)
    np.testing.assert_array_equal(again.owners, first.owners)


def test_few_keys_move_and_no_bucket_if_loads_change_by_chance():
    """A worker with too much load loses at most a few hot keys; two samples differ by chance."""
    random, workers = np.random.default_rng(3), 8
    shares = np.arange(1, 2001) ** -1.0
    keys = random.integers(0, 2**64, len(shares), dtype=np.uint64)
    hot = slice(0, 200)
    plans, plan = [], None
    for _ in range(10):
        counts = random.multinomial(20_000, shares / shares.sum()).astype(np.float64)
        buckets = (keys[200:] & np.uint64(511)).astype(np.int64)
        rests = np.bincount(buckets, counts[200:], minlength=512).astype(np.float64)
        plan = make_plan(keys[hot], counts[hot], rests, np.ones(workers), plan)
        plans.append(plan)
    assert all(each.loads.max() <= 1.01 * each.loads.mean() for each in plans)
    assert sum(each.moved_buckets for each in plans[1:]) == 0
    assert sum(each.moved_keys for each in plans[1:]) <= 9 * workers


def test_a_plan_that_is_balanced_enough_keeps_the_shares_of_split_keys():
    keys, rests = np.array([7], dtype=np.uint64), np.full(64, 1.0)
    plan = make_plan(keys, np.array([100.0]), rests, np.ones(4))
    again = make_plan(keys, np.array([100.2]), rests, np.ones(4), plan)
    np.testing.assert_allclose(again.shares, plan.shares, rtol=1e-12)
    assert again.places.tolist() == plan.places.tolist()


def test_a_worker_with_too_much_load_loses_the_smallest_key_that_is_enough():
    """Worker 0 has 70 of 100 messages, 19 of them too many, and worker 1 has 49 too few."""
    keys = np.array([0, 2, 4, 1], dtype=np.uint64)
    counts, rests = np.array([25.0, 20.0, 25.0, 30.0]), np.zeros(2)
    plan = make_plan(keys, counts, rests, np.ones(2), unplanned(2, 2))
    assert plan.keys.tolist() == [2]
    assert plan.places.tolist() == [1]
    assert (plan.moved_keys, plan.moved_buckets) == (1, 0)


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
@given(problem=problems())
@settings(max_examples=30)
def test_a_plan_is_the_same_in_every_unit(unit, problem):
    keys, (counts, rests), _, capacities = problem
    plan = make_plan(keys, counts, rests, capacities)
    scaled = make_plan(keys, counts * unit, rests * unit, capacities)
    for name in ("keys", "starts", "places", "shares", "owners"):
        np.testing.assert_array_equal(getattr(scaled, name), getattr(plan, name))


def test_unequal_workers_get_unequal_loads():
    rests = np.full(1024, 1.0)
    keys, counts = np.array([7], dtype=np.uint64), np.array([1024.0])
    plan = make_plan(keys, counts, rests, np.array([2.0, 1.0, 1.0]))
    assert plan.loads / 2048 == pytest.approx([0.5, 0.25, 0.25], rel=0.02)


@pytest.mark.soak
def test_a_million_tracked_keys_on_a_thousand_workers():
    """The bounds hold at this size too; benchmarks measure the time."""
    counts = (1e6 / np.arange(1, 1_000_001) ** 1.1).astype(np.float64)
    keys = np.random.default_rng(0).integers(0, 2**64, len(counts), dtype=np.uint64)
    plan = make_plan(keys, counts, np.zeros(65_536), np.ones(1000))
    assert plan.extra_pairs <= 999
    assert plan.loads.max() <= plan.loads.mean() * 1.0101


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([1], [1.0, 2.0], [1.0], [1.0]), "1 keys but 2 counts: give one count per key"),
        (([1], [1.0], [1.0] * 3, [1.0]), "3 buckets: their number must be a power of two"),
        (
            ([1], [1.0], [1.0], [1.0, 0.0]),
            "capacities = [1.0, 0.0]: give each worker a capacity above 0",
        ),
        (([1], [-1.0], [1.0], [1.0]), "loads from -1.0 to -1.0: must be finite and at least 0"),
    ],
)
def test_bad_arguments(arguments, says):
    keys, *rest = arguments
    counts, rests, capacities = (np.array(each) for each in rest)
    with pytest.raises(ConfigurationError) as error:
        make_plan(np.array(keys, dtype=np.uint64), counts, rests, capacities)
    assert str(error.value) == says


def test_a_plan_of_another_size_is_refused():
    with pytest.raises(ConfigurationError, match="plan without the previous plan"):
        make_plan(
            np.empty(0, dtype=np.uint64), np.empty(0), np.ones(8), np.ones(2), unplanned(4, 2)
        )


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("owners", np.array([0, 1, 2, 1 << 23], dtype=np.int32)),
        ("owners", np.array([0, -1], dtype=np.int32)),
        ("owners", np.array([0, 1, 2], dtype=np.int32)),
        ("places", np.array([3], dtype=np.int32)),
        ("starts", np.array([1], dtype=np.int64)),
        ("keys", np.array([7], dtype=np.uint64)),
        ("keys", np.empty(0)),
        ("loads", np.zeros(1 << 20)),
        ("owners", np.zeros(8, dtype=np.int32)),
    ],
)
def test_arrays_that_are_no_plan_are_refused(name, values):
    arrays = {**unplanned(4, 3).to_arrays(), name: values}
    with pytest.raises(RunError, match=r"^a routing table has numbers out of range"):
        Plan.from_arrays(arrays, workers=3, buckets=4)


@pytest.mark.parametrize("share", [np.nan, -0.5, 1.5])
def test_shares_out_of_range_are_refused(share):
    split = {
        "keys": np.array([7], dtype=np.uint64),
        "starts": np.array([0, 2]),
        "places": np.array([0, 1], dtype=np.int32),
        "shares": np.array([0.5, 0.5]),
    }
    arrays = {**unplanned(4, 3).to_arrays(), **split}
    assert Plan.from_arrays(arrays).keys.tolist() == [7]
    with pytest.raises(RunError, match=r"^a routing table has numbers out of range"):
        Plan.from_arrays({**arrays, "shares": np.array([0.5, share])})
