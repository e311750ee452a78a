"""Simulated keyed state equals a count in plain Python, whatever a policy decides."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkey.core.errors import ConfigurationError
from evenkey.core.hashing import hash_longs, murmur3_strings
from evenkey.core.streams import generated
from evenkey.simulation import MoveCosts, Observed, Policy, simulate_policies
from tests.simulation import naive_state
from tests.simulation.streams import ListStream, list_streams


@dataclass(frozen=True)
class Scripted(Policy):
    """Returns owners from a list, and keeps what it learned."""

    name: ClassVar[str] = "scripted"
    owners: tuple[Any, ...] = ()
    stops_for: float | None = None
    learned: list[Observed] = field(default_factory=list)

    @property
    def pause(self):
        return self.stops_for

    def replan(self, observed):
        self.learned.append(observed)
        planned = self.owners[len(self.learned) - 1]
        return None if planned is None else np.array(planned)


@st.composite
def courses(draw):
    """Draw a stream, and the decisions of a policy between its epochs."""
    stream, length = draw(list_streams()), draw(st.integers(1, 40))
    workers = draw(st.integers(1, 4))
    partitions = draw(st.integers(workers, 9))
    owners = st.lists(st.integers(0, workers - 1), min_size=partitions, max_size=partitions)
    epochs = -(-len(stream.messages) // length)
    script = draw(st.lists(st.none() | owners, min_size=epochs - 1, max_size=epochs - 1))
    sizes = st.sampled_from([0.5, 1.0, 3.0])
    return {
        "stream": stream,
        "length": length,
        "partitions": partitions,
        "capacities": draw(st.lists(sizes, min_size=workers, max_size=workers)),
        "script": tuple(script),
        "pause": draw(st.sampled_from([None, 0.0, 2.5])),
        "costs": MoveCosts(
            message_ms=draw(sizes),
            key_bytes=draw(st.sampled_from([0.0, 1e6])),
            message_bytes=draw(st.sampled_from([0.0, 3e5])),
            read_mb_per_second=draw(sizes),
            partition_ms=draw(st.sampled_from([0.0, 7.0])),
        ),
    }


@settings(max_examples=60)
@given(courses())
def test_it_equals_a_plain_count(course):
    stream, pause = course["stream"], course["pause"]
    policy = Scripted(course["script"], pause)
    report, _ = simulate_policies(
        stream,
        [policy, "hash"],
        workers=len(course["capacities"]),
        epoch_messages=course["length"],
        partitions=course["partitions"],
        capacities=course["capacities"],
        costs=course["costs"],
    )
    keys = [number for number, *_ in stream.messages]
    hashes = {key: int(hash_longs(np.array([key]))[0]) for key in keys}
    rows, learned = naive_state.simulate(
        keys, hashes, course["length"], course["partitions"], course["capacities"],
        course["costs"], course["script"], pause,
    )  # fmt: skip
    found = report.to_json()
    assert len(found["by_epoch"]) == found["epochs"] == len(rows)
    for number, (epoch, row) in enumerate(zip(found["by_epoch"], rows, strict=True)):
        assert epoch["epoch"] == number
        for name, value in row.items():
            assert epoch[name] == pytest.approx(value), name
        assert epoch["moves_ms"] == pytest.approx(row["ms"] - max(row["work_ms"]))
    assert len(policy.learned) == len(rows) - 1
    for seen, expected in zip(policy.learned, learned[:-1], strict=True):
        for name, value in expected.items():
            assert np.array(getattr(seen, name)).tolist() == pytest.approx(value), name
    assert found["messages"] == len(keys)
    assert found["states"] == len(set(keys))
    assert found["state_bytes"] == pytest.approx(sum(learned[-1]["sizes"]))
    for total in ("moved_states", "read_bytes"):
        assert found[total] == pytest.approx(sum(row[total] for row in rows))
    moved = sum(row["moved_messages"] for row in rows)
    assert found["moved_load"] == pytest.approx(100 * moved / len(keys))
    assert found["pauses"] == sum(row["pause_ms"] > 0 for row in rows)
    assert found["makespan_ms"] == pytest.approx(sum(row["ms"] for row in rows))
    for name in ("max_over_fair", "max_over_limit", "ms"):
        values = [row[name] for row in rows]
        spread = {"p50": np.median(values), "max": max(values)}
        assert found[f"epoch_{name}"] == pytest.approx(spread)
    json.dumps(found)


@given(list_streams(), st.lists(st.integers(1, 59), max_size=5))
def test_batches_of_the_stream_change_nothing(stream, cuts):
    options: dict[str, Any] = {"workers": 2, "epoch_messages": 7, "partitions": 5}
    policies = ["hash", "mean(threshold=0,min_improvement=0)", "restart(wait=1,gain=1)"]
    reports, others = (
        simulate_policies(each, policies, **options)
        for each in (stream, ListStream(stream.messages, cuts))
    )
    assert [each.to_json() for each in reports] == [each.to_json() for each in others]


def test_the_papers_hash_and_the_defaults():
    stream = generated("zipf(z=0.5,keys=50)", messages=900, seed=4)
    progress: list[int] = []
    (report,) = simulate_policies(
        stream, ["hash"], workers=3, epoch_messages=400, hash="murmur3", on_progress=progress.append
    )
    owners = murmur3_strings([str(key) for key in range(50)]) % np.uint64(48) % np.uint64(3)
    counts = np.bincount(owners[stream.ids(0, 400)].astype(int), minlength=3)
    assert report.epochs[0].loads.tolist() == counts.tolist()
    assert progress == [400, 800, 900]
    setting = report.to_json()
    assert (setting["partitions"], setting["capacities"]) == (48, [1.0, 1.0, 1.0])
    assert (setting["hash"], setting["seed"], setting["message_ms"]) == ("murmur3", 4, 1.0)


def test_work_that_costs_nothing_is_balanced():
    stream = generated("country-skew-r80", messages=200)
    costs = MoveCosts(message_ms=0)
    (report,) = simulate_policies(stream, ["hash"], workers=3, epoch_messages=100, costs=costs)
    figures = report.to_json()
    assert figures["epoch_max_over_fair"] == {"p50": 1.0, "max": 1.0}
    assert (figures["makespan_ms"], figures["messages_per_second"]) == (0, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policies": []}, r"policies = \[\]: name at least one"),
        ({"policies": ["hsah"]}, r"unknown policy 'hsah' .did you mean 'hash'"),
        ({"policies": ["restart(wait=0)"]}, "restart: wait = 0: must be at least 1"),
        ({"policies": ["restart(gain=0.5)"]}, "restart: gain = 0.5: must be at least 1"),
        ({"policies": ["restart(seconds=-1)"]}, "restart: seconds = -1.0: must be at least 0"),
        ({"policies": ["mean(threshold=-1)"]}, "mean: threshold = -1.0: must be at least 0"),
        ({"policies": ["mean(threshold=x)"]}, "threshold = 'x': must be a number"),
        ({"policies": ["moves(slack=-1)"]}, "moves: slack = -1.0: must be at least 0"),
        ({"workers": 0}, "workers = 0: there must be at least 1 worker"),
        ({"epoch_messages": 0}, "epoch_messages = 0: must be at least 1"),
        ({"partitions": 2}, "partitions = 2: must be at least 3"),
        ({"capacities": "2:1"}, "2 capacities for 3 workers"),
        ({"capacities": (1, 0, 1)}, r"capacities = \(1, 0, 1\): give one number above 0"),
        ({"hash": "md5"}, "unknown hash 'md5'"),
        ({"policies": [Scripted(((0, 1),))]}, r"return a worker, 0 to 2, for each of the 48"),
        (
            {"policies": [Scripted(((3,) * 48,))]},
            "policy .scripted. returned .*a worker, 0 to 2",
        ),
    ],
)
def test_mistakes_are_one_line(options, message):
    stream = generated("uniform(keys=9)", messages=20)
    given = {"policies": ["hash"], "workers": 3, "epoch_messages": 10, **options}
    with pytest.raises(ConfigurationError, match=message):
        simulate_policies(stream, given.pop("policies"), **given)


def test_a_stream_without_messages_is_an_error():
    with pytest.raises(ConfigurationError, match="stream = 'list': it has no messages"):
        simulate_policies(ListStream([]), ["hash"], workers=1, epoch_messages=1)


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ({"message_ms": -1}, "message_ms = -1: must be at least 0"),
        ({"key_bytes": float("nan")}, "key_bytes = nan: must be a finite number"),
        ({"message_bytes": "1"}, "message_bytes = '1': must be a finite number"),
        ({"read_mb_per_second": 0}, "read_mb_per_second = 0: must be above 0"),
        ({"partition_ms": -0.5}, "partition_ms = -0.5: must be at least 0"),
    ],
)
def test_costs_out_of_range(cost, message):
    with pytest.raises(ConfigurationError, match=message):
        MoveCosts(**cost)
