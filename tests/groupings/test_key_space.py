"""The key space of dynamic key grouping: items of several sources are merged."""

from __future__ import annotations

import numpy as np
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.groupings import DynamicKeyGrouping
from evenkey.groupings.key_space import BABY, DEPARTED, ITEM, OLD, TEENAGE, KeySpace


def items_of(*rows):
    """Make items from rows (key, count, seen, checked, order, pool, space)."""
    return np.array([*rows], dtype=ITEM)


def space(**options):
    sizes = {"baby": 2, "teenage": 1, "old": 2, "as_reference": False, "idle_eviction": np.inf}
    return KeySpace(**(sizes | options))


def rows(items):
    return {row[0]: row[1:] for row in items.tolist()}


def test_old_keys_of_two_sources_pass_the_coldest_down():
    """Only two old keys and one teenage key fit, so the fourth key becomes a baby."""
    first = items_of((1, 9, 5.0, 5.0, 3, 4, OLD), (2, 5, 6.0, 5.0, 1, 3, OLD))
    second = items_of((3, 7, 9.0, 8.0, 2, 2, OLD), (4, 3, 8.0, 8.0, 0, 2, OLD))
    # Counts are means over both sources, rounded up; orders are renumbered from 0.
    assert rows(space().merge([first, second])) == {
        4: (2, 8.0, 8.0, 0, 2, BABY),
        2: (3, 6.0, 5.0, 1, 3, TEENAGE),
        3: (4, 9.0, 8.0, 2, 2, OLD),
        1: (5, 5.0, 5.0, 3, 4, OLD),
    }


def test_a_key_of_two_sources_has_the_best_of_both():
    first = items_of((1, 3, 5.0, 7.0, 6, 4, BABY), (2, 9, 1.0, 1.0, 2, 2, TEENAGE))
    second = items_of((1, 2, 9.0, 3.0, 4, 2, OLD))
    assert rows(space().merge([first, second])) == {
        2: (5, 1.0, 1.0, 0, 2, TEENAGE),
        1: (3, 9.0, 7.0, 1, 4, OLD),
    }


def test_a_key_has_departed_if_it_did_from_all_sources():
    kept = space(first_pool=2, kept_pools=3)
    gone = items_of((1, 1, 5.0, 5.0, 0, 4, DEPARTED), (2, 1, 6.0, 5.0, 1, 3, DEPARTED))
    here = items_of((1, 8, 4.0, 4.0, 0, 2, BABY), (2, 1, 7.0, 5.0, 1, 5, DEPARTED))
    assert rows(kept.merge([gone, here])) == {
        1: (4, 5.0, 5.0, 0, 4, BABY),
        2: (1, 7.0, 5.0, 1, 5, DEPARTED),
    }


def test_a_key_that_one_of_two_sources_saw_once_counts_once():
    rare, often = items_of((1, 1, 5.0, 5.0, 0, 2, BABY)), items_of((2, 4, 6.0, 5.0, 0, 2, BABY))
    assert rows(space().merge([rare, often]))[1][0] == 1


def test_of_equals_the_one_seen_first_stays_also_across_epochs():
    """Keys from the previous epoch keep their order, and come before new keys."""
    grouping = DynamicKeyGrouping(
        expected_keys=4, old_share=0.25, teenage_share=0.25, baby_share=0.5
    )
    before, after = grouping.router(3), grouping.router(3)
    before.route(np.array([30, 20], dtype=np.uint64), np.array([1.0, 2.0]))
    memory = grouping.merge_memories([before.memory()])
    after.remember(memory)
    after.route(np.array([10, 5], dtype=np.uint64), np.array([3.0, 4.0]))
    items = after.snapshot()["items"]
    assert items["key"].tolist() == [30, 20, 10, 5]
    assert items["order"].tolist() == [0, 1, 2, 3]
    # Only two babies fit. All keys came once, so the first two stay.
    assert after.memory()["items"]["key"].tolist() == [30, 20]
    restored = grouping.router(3)
    restored.restore(after.snapshot())
    restored.route(np.array([1], dtype=np.uint64), np.array([5.0]))
    assert restored.snapshot()["items"]["order"].tolist() == [0, 1, 2, 3, 4]


def test_a_key_space_of_size_zero_starts_again():
    """With one expected key the baby space rounds to size 0, so no key is carried over."""
    grouping = DynamicKeyGrouping(expected_keys=1)
    before, after = grouping.router(3), grouping.router(3)
    before.route(np.array([30], dtype=np.uint64), np.array([1.0]))
    memory = grouping.merge_memories([before.memory()])
    assert len(memory["items"]) == 0
    after.remember(memory)
    after.route(np.array([10, 5], dtype=np.uint64), np.array([3.0, 4.0]))
    assert after.snapshot()["items"][["key", "order"]].tolist() == [(10, 0), (5, 1)]


def test_the_largest_pool_is_that_of_table_1():
    """100 / (100 / W + sqrt(100 / W)) is 10 W / (10 + sqrt(W)), whole numbers if W is a square."""
    for root in range(1, 60):
        workers, rest = root * root, 10 * root * root % (10 + root)
        if rest:  # without a remainder, rounding decides
            most = min(workers, 10 * workers // (10 + root) + 1)
            assert DynamicKeyGrouping().most_workers(workers) == most


@pytest.mark.parametrize("baby", [0.4, 0.499999, 0.500001, 1.4])
def test_shares_of_the_spaces_add_up_to_1(baby):
    with pytest.raises(ConfigurationError, match="the shares of the three spaces add up to"):
        DynamicKeyGrouping(baby_share=baby)
    DynamicKeyGrouping(old_share=1 / 3, teenage_share=1 / 3, baby_share=1 / 3)
