"""The scenarios of DKG's section 4 agree with the simulator and with what their streams hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenkey.core.streams import generated
from evenkey.papers.experiments import Dataset
from evenkey.papers.experiments.dkg.section_4 import WorkerLoads
from evenkey.papers.experiments.dkg.section_4_2 import PoolsBySpace, WorkersOfKeys
from evenkey.papers.experiments.dkg.section_4_4 import EachKeyHot
from evenkey.papers.experiments.dkg.section_4_6 import COURSES, HotKeyPool
from evenkey.papers.experiments.hot_key_stream import HotKeyStream
from evenkey.simulation import simulate

COLD = "country-skew-r0"


def drawn(size: int):
    """Return ids, keys and times of a stream that is hot for half of its 100 s."""
    cold = generated(COLD, messages=20_000, rate=200.0)
    stream = HotKeyStream(cold, 3, lambda times: np.where(times < 50, 0.8, 0.0))
    batches = [*stream.batches(size)]
    return [
        np.concatenate([getattr(each, name) for each in batches])
        for name in ("ids", "keys", "times")
    ]


def test_a_hot_key_replaces_its_share_of_the_messages_and_no_others():
    ids, keys, times = drawn(777)
    before = generated(COLD, messages=20_000, rate=200.0).batch(0, 20_000)
    hot = (ids == 3) & (times < 50)
    assert hot.mean() / 0.5 == pytest.approx(0.8 + 0.2 / 204, abs=0.01)
    assert (ids[~hot] == before.ids[~hot]).all()
    assert len({*zip(ids.tolist(), keys.tolist(), strict=True)}) == len({*ids.tolist()})
    assert all(map(np.array_equal, (ids, keys, times), drawn(20_000)))


def test_keys_with_one_candidate_are_those_that_pkg_keeps_on_one_worker():
    each = EachKeyHot(Dataset(COLD, 50), "pkg(variant=paper)", seeds=1)
    report = simulate(
        generated(COLD, messages=100_000), each.grouping, workers=10, hash="murmur3", sources=1
    )
    figures = each.measure().figures
    assert figures["single_percent"] == pytest.approx(100 * (2 - report.metrics.dist_cost))
    assert figures["equal_percent"] == 0


def test_the_loads_of_workers_are_those_of_the_simulation():
    scenario = WorkerLoads(Dataset("country-skew-r80", 10_000), "kg", 10)
    measured = scenario.measure()
    assert measured.series is not None
    shares = measured.series.column("share_percent").to_numpy()
    assert shares.sum() == pytest.approx(100)
    assert 10 * shares[0] / 100 == pytest.approx(measured.figures["max_over_mean"])


def test_a_pool_of_two_never_changes_and_has_nothing_to_leave():
    stream = Dataset(COLD, 40_000, 50.0)
    kept = HotKeyPool(stream, "dkg(largest_pool=2)", "becomes cold", seeds=1).measure().figures
    assert (kept["workers_most"], kept["pool_half"], kept["changes"]) == (2, 2, 0)
    assert kept["leaving_seconds"] == 0
    grown = HotKeyPool(stream, "dkg", "becomes cold", seeds=1).measure().figures
    assert grown["workers_most"] == 8  # 80 % of the messages, at most 13.16 % a worker


def test_spikes_are_shorter_than_a_promotion():
    times = np.arange(0, 800, 0.5)
    spikes = [share(times) for name, share in COURSES.items() if name.startswith("spike")]
    assert [float((share > 0).sum() / 2) for share in spikes] == [14.0] * 6


def test_only_old_keys_have_larger_pools_than_the_first():
    scenario = PoolsBySpace(Dataset("country-skew-r80", 40_000, 200.0), seeds=1)
    figures: dict[str, Any] = scenario.measure().figures
    assert figures["pool_of_others"] == 2 < figures["pool_of_old"]
    assert 0 < figures["grown"] < figures["entries"]


def test_workers_of_keys_make_up_distcost():
    scenario = WorkersOfKeys(Dataset("country-skew-r80", 40_000, 200.0), seeds=1)
    figures: dict[str, Any] = scenario.measure().figures
    assert 2 < figures["of_hot"] <= 8
    mean = (figures["of_hot"] + 203 * figures["of_others"]) / 204
    assert figures["dist_cost"] == pytest.approx(mean)
