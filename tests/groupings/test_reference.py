"""`dkg(variant=reference)` routes as the reference implementation does, on any number of workers.

``reference.json`` has the results of `reference_model`, which uses none of our code, for a stream
on 2 to 200 workers; ``python -m tests.groupings.test_reference`` writes it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.groupings import DynamicKeyGrouping, parse
from evenkey.groupings.key_space import BABY, DEPARTED
from tests.groupings import naive, reference_model
from tests.groupings.reference_model import Reference
from tests.tiers import most_in_soak

GOLDEN = Path(__file__).with_name("reference.json")
WORKERS = range(2, 201)
EXPECTED_KEYS = 10
HOT = 10**6
BEFORE = 9300
"""Number of messages before the hot key returns."""


def stream():
    """Make 9,600 messages: a hot key comes, other keys drive it out of the spaces, it returns.

    No random library is used. Times are multiples of 1/8 s, which floating point represents
    exactly.
    """
    keys, times, state = [], [], 1
    for i in range(120 + 9 * 1020 + 300):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        draw = state >> 40
        wave, i_of_wave = divmod(i - 120, 1020)
        if 0 <= wave < 9:
            # Every 15 s twelve new keys come, each more often than the hot key before.
            keys.append(10**9 + wave * 12 + i_of_wave % 12)
            times.append(300 + wave * 15 + i_of_wave * 120 // 1020 / 8)
        else:
            keys.append(HOT if draw % 10 < 6 else 10**12 + draw // 10 % 40)
            times.append(i * 2.5 if wave < 0 else 435 + (i - BEFORE) * 1.5)
    return keys, times


def arrays():
    keys, times = stream()
    return np.array(keys, dtype=np.uint64), np.array(times)


def digest(assignments):
    return hashlib.sha256(bytes(assignments)).hexdigest()[:16]


def modelled(workers):
    model = Reference(workers, EXPECTED_KEYS)
    keys, times = stream()
    assignments = model.route(keys[:BEFORE], times[:BEFORE], [1] * BEFORE)
    pools = {str(key): pool for key, pool in sorted(model.pools.items()) if pool > 2}
    assignments += model.route(keys[BEFORE:], times[BEFORE:], [1] * (len(keys) - BEFORE))
    return {
        "thresholds": list(reference_model.thresholds(workers)),
        "last": assignments[-12:],
        "assignments": digest(assignments),
        "pools": pools,
    }


def write():
    lines = [f'  "{workers}": {json.dumps(modelled(workers))}' for workers in WORKERS]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")


@pytest.fixture(scope="module")
def golden():
    return json.loads(GOLDEN.read_text())


def test_thresholds(golden):
    """The thresholds agree for every number of workers; once, 129 of these 199 were wrong."""
    for workers in WORKERS:
        ours = DynamicKeyGrouping(variant="reference")
        minus_root = DynamicKeyGrouping(variant="reference", scale_in="minus-root")
        out_at, in_at = golden[str(workers)]["thresholds"]
        assert ours.thresholds(workers) == (out_at, out_at), workers
        assert minus_root.thresholds(workers) == (out_at, in_at), workers


@pytest.mark.slow(2)
def test_assignments_and_pools_of_some_workers(golden):
    compare_with_golden(golden, WORKERS[::4])


@pytest.mark.soak(21)
def test_assignments_and_pools(golden):
    compare_with_golden(golden, WORKERS)


def compare_with_golden(golden, every):
    keys, times = arrays()
    for workers in every:
        router = DynamicKeyGrouping(variant="reference", expected_keys=EXPECTED_KEYS).router(
            workers
        )
        ours = router.route(keys[:BEFORE], times[:BEFORE]).tolist()
        items = router.snapshot()["items"]
        pools = {str(each["key"]): int(each["pool"]) for each in items if each["pool"] > 2}
        assert pools == golden[str(workers)]["pools"], workers
        ours += router.route(keys[BEFORE:], times[BEFORE:]).tolist()
        assert ours[-12:] == golden[str(workers)]["last"], workers
        assert digest(ours) == golden[str(workers)]["assignments"], workers


def departed(router):
    items = router.snapshot()["items"]
    return items[items["space"] == DEPARTED]


def test_the_stream_shows_what_it_is_for(golden):
    """Pools grow, and the hot key leaves with its pool and returns, so that the test has value."""
    grown = [workers for workers in WORKERS if golden[str(workers)]["pools"]]
    assert len(grown) > 150
    keys, times = arrays()
    router = DynamicKeyGrouping(variant="reference", expected_keys=EXPECTED_KEYS).router(10)
    router.route(keys[:BEFORE], times[:BEFORE])
    assert HOT in departed(router)["key"]
    assert HOT in keys[BEFORE:]


@pytest.mark.slow(1)
@pytest.mark.parametrize("workers", most_in_soak([1, 3, 10, 150], 1, slow=[10]))
@given(
    seed=st.integers(0, 2**32 - 1),
    expected_keys=st.sampled_from([1, 9, 19, 27, 100]),
    skew=st.sampled_from([1.2, 1.6, 2.5]),
    gap=st.sampled_from([0.0, 40.0, 500.0]),
    heaviest=st.sampled_from([1, 9]),
)
def test_any_stream(workers, seed, expected_keys, skew, gap, heaviest):
    random = np.random.default_rng(seed)
    keys = random.integers(0, 2**64, 60, dtype=np.uint64)[random.zipf(skew, 400) % 60]
    times = np.sort(random.uniform(0, 250, 400))
    times[250:] += gap
    weights = random.integers(1, heaviest, 400, endpoint=True)
    model = Reference(workers, expected_keys, naive.home)
    expected = model.route(keys.tolist(), times.tolist(), weights.tolist())
    ours = DynamicKeyGrouping(variant="reference", expected_keys=expected_keys).router(workers)
    assert ours.route(keys, times, weights).tolist() == expected


def test_spaces_are_cut_down():
    """As Java converts, 19 expected keys become 1 old, 7 teenage and 9 baby keys."""
    for expected_keys in range(1, 300):
        ours = DynamicKeyGrouping(variant="reference", expected_keys=expected_keys).key_space()
        theirs = reference_model.Spaces(expected_keys)
        assert (ours.old, ours.teenage) == (theirs.old_size, theirs.teenage_size)
        assert ours.baby == theirs.baby_size


@pytest.mark.slow(2)
def test_pools_of_departed_keys_are_bounded():
    """If many keys get larger pools and depart, only the pools of those last seen are kept."""
    grouping = DynamicKeyGrouping(
        variant="reference", expected_keys=4, old_share=0.25, teenage_share=0.25, old_period=15
    )
    grouping = dataclasses.replace(grouping, kept_pools=5)
    routers = [dataclasses.replace(grouping, kept_pools=kept).router(4) for kept in (5, 0, 99)]
    for wave in range(30):
        for router in routers:
            # Loads start at 0, as in an epoch; each key soon exceeds the messages of the previous.
            router.restore({"sent": np.zeros(4, dtype=np.int64)})
            keys = np.full(400, 1000 + wave, dtype=np.uint64)
            weights = np.full(400, int(1.7**wave) + 1)
            router.route(keys, np.linspace(wave * 200, wave * 200 + 199, 400), weights)
    items = routers[0].snapshot()["items"]
    left = departed(routers[0])["key"].tolist()
    assert len(left) == 5
    assert len(items) <= 5 + grouping.expected_keys
    every = sorted(departed(routers[2])["key"].tolist())
    assert len(every) > 8
    assert sorted(left) == every[-5:]
    assert len(grouping.key_space().merge([items, items])) == len(items)
    assert not len(departed(routers[1]))


def test_a_returning_key_has_its_pool_after_an_epoch_too():
    """The memory between epochs includes the pools of departed keys."""
    grouping = DynamicKeyGrouping(variant="reference", expected_keys=EXPECTED_KEYS)
    keys, times = arrays()
    first, second = grouping.router(10), grouping.router(10)
    first.route(keys[:BEFORE], times[:BEFORE])
    second.remember(grouping.merge_memories([first.memory(), first.memory()]))
    pools = {int(each["key"]): int(each["pool"]) for each in departed(first)}
    assert pools[HOT] > 2
    assert {int(each["key"]): int(each["pool"]) for each in departed(second)} == pools
    second.route(np.array([HOT], dtype=np.uint64), times[BEFORE : BEFORE + 1])
    items = second.snapshot()["items"]
    item = items[items["key"] == HOT][0]
    assert (item["count"], item["pool"], item["space"]) == (1, pools[HOT], BABY)


def test_the_parameters_of_the_reference_are_the_defaults():
    spelling = (
        "dkg(initial_pool=2,warm_up=15,teenage_period=15,old_period=60,expected_keys=100,"
        "old_share=0.1,teenage_share=0.4,baby_share=0.5)"
    )
    assert str(parse(spelling)) == "dkg"


if __name__ == "__main__":
    write()
