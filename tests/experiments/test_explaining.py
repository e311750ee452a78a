"""Experiments that explain a difference measure what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenkey.core.streams import generated
from evenkey.papers.data_sets import LookAlike
from evenkey.papers.experiments.dkg.section_5_3 import FlatterTail, LoadThroughTime, TailDataset
from evenkey.papers.experiments.experiment_data import Dataset
from evenkey.papers.experiments.pkg.sections.section_6_1 import HashDraws, OtherStreams

ELECTION = "twitter-election"


@pytest.mark.slow(8)
def test_a_flatter_tail_keeps_the_hot_key_and_makes_the_second_rare():
    like = LookAlike(ELECTION, messages=50_000)
    assert FlatterTail(like, 0).shares == pytest.approx(like.probabilities())
    with TailDataset(like.name, like.messages, offset=20.0).opened() as stream:
        batches = list(stream.batches())
    counts = np.bincount(np.concatenate([batch.ids for batch in batches]), minlength=10)
    assert counts.sum() == 50_000
    assert counts[0] / 50_000 == pytest.approx(0.68, abs=0.01)
    assert counts[1] / 50_000 == pytest.approx(0.0091, abs=0.002)
    assert all((batch.keys == like.hashes(batch.ids)).all() for batch in batches)


def test_the_load_of_an_epoch_is_at_least_that_of_the_whole_stream():
    stream = Dataset(f"{ELECTION}-like", 20_000, 20.0)
    often = LoadThroughTime(stream, "dkg", 10, epoch_messages=100)
    figures: dict[str, Any] = often.measure().figures
    assert figures["epoch_mean"] > figures["max_over_mean"]
    one = LoadThroughTime(stream, "dkg", 10, epoch_messages=20_000).measure().figures
    assert one["epoch_mean"] == one["max_over_mean"] == figures["max_over_mean"]


def test_draws_of_the_hash_decide_whether_few_keys_are_balanced():
    """Two equal keys on two workers meet in half of the draws."""
    figures = HashDraws(Dataset("uniform(keys=2)", 1000), "kg", 2, draws=60).measure().figures
    counts = np.bincount(generated("uniform(keys=2)", messages=1000).ids(0, 1000))
    assert figures["imbalance_most"] == 0.5
    assert figures["imbalance_least"] == (counts.max() - 500) / 1000
    assert figures["messages"] == 60_000


def test_a_method_that_keeps_keys_whole_is_measured_on_streams_of_other_seeds():
    """On-Greedy has each of two keys on a worker of its own, so loads are the keys' counts."""
    stream = Dataset("uniform(keys=2)", 1000)
    figures = OtherStreams(stream, "on-greedy", 2, seeds=3).measure().figures
    counts = [
        np.bincount(generated("uniform(keys=2)", messages=1000, seed=seed).ids(0, 1000)).max()
        for seed in range(3)
    ]
    assert len(set(counts)) == len(counts)
    assert figures["imbalance_runs"] == [(each - 500) / 1000 for each in counts]
    assert figures["messages"] == 3000
