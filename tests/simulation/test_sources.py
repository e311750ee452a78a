"""Routers of all sources together: their size, the time in them."""

from __future__ import annotations

import numpy as np
import pytest

from evenkey.groupings import parse
from evenkey.simulation.estimation import Global, Local, Probing, parse_estimation
from evenkey.simulation.sources import Messages, Sources


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


def test_probing_sets_every_routers_loads():
    sources = Sources(parse("pkg"), Probing(5.0), 3, 2)
    loads = np.array([0, 9, 9])
    sources.probe(loads)
    keys = np.arange(40, dtype=np.uint64)
    routed = sources.route(Messages(keys, np.zeros(40), None, np.repeat([0, 1], 20)))
    for mine in np.split(routed, 2):
        assert (mine == 0)[:9].sum() >= 5  # whoever may goes to the worker that is behind
    assert loads.tolist() == [0, 9, 9]


@pytest.mark.parametrize("text", ["local", "GLOBAL", "probing(60)", " Probing( seconds = 60 ) "])
def test_estimations_are_read_as_they_are_spelled(text):
    read = parse_estimation(text)
    assert parse_estimation(str(read)) == parse_estimation(read) == read
