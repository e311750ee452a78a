"""If an aggregator has bounded state, its memory does not grow with the stream."""

from __future__ import annotations

import pytest

from benchmarks.worker_memory import held_bytes, messages
from evenkey.aggregators import parse
from evenkey.spark.aggregates import partial_task as work
from tests.tiers import most_in_soak

# A counter has a key of at most 10 bytes with its offset, and two numbers of 8 bytes.
_COUNTER = 10 + 4 + 16
_HELD = 1 << 17


@pytest.mark.slow(2)
@pytest.mark.parametrize("spelling", ["heavy-hitters(k=5,capacity={})", "top-k(k=5,capacity={})"])
@pytest.mark.parametrize("capacity", most_in_soak([100, 3000], 2, slow=[3000]))
def test_the_keys_of_a_worker_are_bounded_by_the_capacity(spelling, capacity, monkeypatch):
    monkeypatch.setattr(work, "_HELD_BYTES", _HELD)
    aggregator = parse(spelling.format(capacity))
    state = capacity * _COUNTER + 1024
    for batches in (2, 8):
        held = held_bytes(aggregator, messages(batches * 100_000, batches * 50_000))
        # The parts that it collects before it merges, plus one state, however many batches come.
        assert held <= max(_HELD, 2 * state) + state


@pytest.mark.slow(3)
def test_aggregators_that_count_every_key_grow_with_every_key(monkeypatch):
    monkeypatch.setattr(work, "_HELD_BYTES", _HELD)
    few, many = (
        held_bytes(parse("count"), messages(batches * 100_000, batches * 50_000))
        for batches in (2, 8)
    )
    assert many > 2 * few
