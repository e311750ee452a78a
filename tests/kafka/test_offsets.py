"""The range that a run reads: as JSON, and compared with a query's offsets."""

from __future__ import annotations

import pytest

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.stores import LocalStore
from evenkey.kafka.offsets import OffsetRange, _chosen

EARLIEST = {"a": {0: 5, 1: 0}, "b": {0: 0}}
LATEST = {"a": {0: 9, 1: 3}, "b": {0: 0}}
BOUNDED = OffsetRange(EARLIEST, LATEST)


def test_a_range_knows_its_size():
    assert (BOUNDED.span, BOUNDED.partitions) == (7, 3)
    assert OffsetRange(EARLIEST, None).span is None


@pytest.mark.parametrize(
    ("reached", "share"),
    [
        ({}, 0.0),
        (EARLIEST, 0.0),
        ({"a": {0: 9, 1: 0}}, 4 / 7),
        ({"a": {0: 9, 1: 3}}, 1.0),
        ({"a": {0: 90, 1: 30}, "b": {0: 5}}, 1.0),  # the topics grow while they are read
    ],
)
def test_a_share_never_exceeds_one(reached, share):
    assert BOUNDED.share(reached) == share
    assert OffsetRange(EARLIEST, None).share(reached) is None
    assert OffsetRange(EARLIEST, EARLIEST).share(reached) == 1.0


def test_a_range_survives_a_round_trip():
    for each in (BOUNDED, OffsetRange(EARLIEST, None)):
        assert OffsetRange.from_json(each.to_json()) == each
    with pytest.raises(RunError, match="choose another output"):
        OffsetRange.from_json('{"start": 3}')


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00\xd8"])
def test_offsets_that_cannot_be_read_are_one_line(tmp_path, content):
    store = LocalStore(tmp_path)
    if content is not None:
        store.put("state/offsets.json", content)
    with pytest.raises(RunError, match=r"offsets\.json cannot be read .*choose another output"):
        OffsetRange.read(store, "state/offsets.json")


@pytest.mark.parametrize(
    ("ends", "reached"),
    [
        ({"a": {"0": 9, "1": 3}, "b": {"0": 0}}, True),
        ({"a": {"0": 10, "1": 30}}, True),  # b is empty
        ({"a": {"0": 9, "1": 2}, "b": {"0": 0}}, False),
        ({"a": {"0": 9}}, False),
        ({"closed": 0}, False),
    ],
)
def test_it_is_reached_when_every_partition_is(ends, reached):
    assert BOUNDED.reached(OffsetRange.ends_of([ends])) is reached
    assert not OffsetRange(EARLIEST, None).reached(OffsetRange.ends_of([ends]))


def test_a_partition_without_records_in_the_range_is_reached_without_being_read():
    empty = OffsetRange({"a": {0: 5}}, {"a": {0: 5}})
    assert empty.reached({})


def test_given_offsets_override_the_earliest():
    assert _chosen('{"a": {"0": -1, "1": 2}}', EARLIEST, LATEST) == {"a": {0: 9, 1: 2}, "b": {0: 0}}
    assert _chosen('{"a": {"0": -2}}', EARLIEST, LATEST) == EARLIEST
    with pytest.raises(ConfigurationError, match="topic 'a' has no partition 7"):
        _chosen('{"a": {"7": 0}}', EARLIEST, LATEST)
    for offset in (4, 10):
        with pytest.raises(ConfigurationError, match=rf"has offsets 5 to 9, not {offset}"):
            _chosen(f'{{"a": {{"0": {offset}}}}}', EARLIEST, LATEST)


@pytest.mark.parametrize("text", ["first", "3", '{"a": 3}', '{"a": {"x": 3}}'])
def test_invalid_offsets_are_rejected(text):
    with pytest.raises(ConfigurationError, match="must be earliest, latest or JSON"):
        OffsetRange.parse_start(text)
