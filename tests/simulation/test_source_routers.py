"""The routers of all sources together: their size, and the time spent in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from evenkey.core.streams import generated
from evenkey.groupings import Grouping, Router, parse
from evenkey.simulation import simulate
from evenkey.simulation.estimation import Global, Local, Probing, parse_estimation
from evenkey.simulation.source_routers import Messages, Sources

PAPERS = "pkg(variant=paper)"


def messages(count):
    keys = np.arange(count, dtype=np.uint64)
    return Messages(keys, keys.astype(np.float64), None, np.arange(count) % 3)


def test_memory_is_that_of_all_routers_and_of_no_batch():
    one, three = (Sources(parse("pkg"), each, 1000, 3) for each in (Global(), Local()))
    before = three.memory_bytes
    assert one.memory_bytes >= 8 * 1000
    assert before >= 3 * one.memory_bytes - 1000
    three.route(messages(10_000))
    assert three.memory_bytes <= before + 100


def test_warming_up_leaves_no_trace():
    warm, cold = (Sources(parse("dkg"), Local(), 5, 3) for _ in range(2))
    warm.warm_up(messages(100))
    assert warm.seconds == 0
    assert warm.route(messages(500)).tolist() == cold.route(messages(500)).tolist()
    assert warm.seconds > 0


class Noting(Router):
    """Records the number of messages of each batch, and the seconds that it spans."""

    batches: ClassVar[list[tuple[int, float]]] = []

    def _route(self, keys, times, weights, workers):
        del weights
        self.batches.append((len(keys), times[-1] - times[0]))
        workers[:] = 0

    def snapshot(self):
        return {}

    def restore(self, snapshot):
        pass


@dataclass(frozen=True)
class Notes(Grouping):
    name: ClassVar[str] = "notes"

    def _router(self, workers, source):
        return Noting(workers, source)


def test_warming_up_routes_messages_of_minutes():
    Noting.batches.clear()
    Sources(Notes(), Local(), 5, 3).warm_up(messages(100))
    ((count, seconds),) = Noting.batches
    assert count == 100
    assert seconds >= 120


def test_probing_sets_every_routers_loads():
    sources = Sources(parse("pkg"), Probing(5.0), 3, 2)
    loads = np.array([0, 9, 9])
    sources.probe(loads)
    keys = np.arange(40, dtype=np.uint64)
    routed = sources.route(Messages(keys, np.zeros(40), None, np.repeat([0, 1], 20)))
    for mine in np.split(routed, 2):
        assert (mine == 0)[:9].sum() >= 5  # keys that may go to worker 0 do, as its load is least
    assert loads.tolist() == [0, 9, 9]


def test_the_loads_that_routers_estimate_add_up_to_the_true_loads():
    """No message is lost, with unequal sources, loads above 2**53 and indivisible loads."""
    sources = Sources(parse("pkg"), Probing(5.0), 3, 4)
    origins = np.repeat([0, 1, 2], [5, 70, 25])
    keys = np.arange(100, dtype=np.uint64)
    sources.route(Messages(keys, np.zeros(100), None, origins))
    loads = np.array([10**17 + 7, 10**17, 3])
    sources.probe(loads)
    assert sources.estimates.sum(axis=0).tolist() == loads.tolist()
    assert sources.estimates[3].tolist() == [0, 0, 0]
    assert (sources.estimates[:3, 0] * 100 // (10**17)).tolist() == [5, 70, 25]


@pytest.mark.parametrize("feed", ["shuffle", "key"])
@pytest.mark.parametrize("sources", [2, 5, 20])
def test_probed_sources_do_not_overshoot_together(sources, feed):
    """Once, each source corrected all of the difference; the imbalance was 200 times local."""
    stream = generated("slashdot0811-like", messages=100_000)
    local, probed = (
        simulate(
            stream, PAPERS, workers=5, sources=sources, feed=feed, estimation=estimation
        ).average_imbalance
        for estimation in ("local", "probing(20)")
    )
    assert probed <= 1.05 * local


@pytest.mark.slow(3)
def test_often_probed_sources_stay_as_they_are():
    """What rounding takes from a source at one probe must come back at the next."""
    stream = generated("cashtags-like", messages=100_000)
    local, probed = (
        simulate(stream, PAPERS, workers=20, estimation=estimation).average_imbalance
        for estimation in ("local", "probing(0.1)")
    )
    assert probed <= 1.5 * local


@pytest.mark.parametrize("text", ["local", "GLOBAL", "probing(60)", " Probing( seconds = 60 ) "])
def test_estimations_are_read_as_they_are_spelled(text):
    read = parse_estimation(text)
    assert parse_estimation(str(read)) == parse_estimation(read) == read
