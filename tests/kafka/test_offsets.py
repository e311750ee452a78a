"""What a run reads, written down and compared with where a query is."""

from __future__ import annotations

import pytest

from evenkey.errors import ConfigurationError, RunError
from evenkey.kafka.offsets import OffsetRange, _chosen, parse_offsets

EARLIEST = {"a": {0: 5, 1: 0}, "b": {0: 0}}
LATEST = {"a": {0: 9, 1: 3}, "b": {0: 0}}
BOUNDED = OffsetRange(EARLIEST, LATEST)


def test_a_range_knows_its_size():
    assert (BOUNDED.total, BOUNDED.partitions) == (7, 3)
    assert OffsetRange(EARLIEST, None).total is None


def test_a_range_is_read_back_as_it_was_written():
    for each in (BOUNDED, OffsetRange(EARLIEST, None)):
        assert OffsetRange.from_json(each.to_json()) == each
    with pytest.raises(RunError, match="choose another output"):
        OffsetRange.from_json('{"start": 3}')


@pytest.mark.parametrize(
    ("told", "reached"),
    [
        ({"a": {"0": 9, "1": 3}, "b": {"0": 0}}, True),
        ({"a": {"0": 10, "1": 30}}, True),  # b is empty
        ({"a": {"0": 9, "1": 2}, "b": {"0": 0}}, False),
        ({"a": {"0": 9}}, False),
        ({"closed": 0}, False),
    ],
)
def test_it_is_reached_when_every_partition_is(told, reached):
    assert BOUNDED.reached(told) is reached
    assert not OffsetRange(EARLIEST, None).reached(told)


def test_chosen_offsets_stand_over_the_earliest():
    assert _chosen('{"a": {"0": -1, "1": 2}}', EARLIEST, LATEST) == {"a": {0: 9, 1: 2}, "b": {0: 0}}
    assert _chosen('{"a": {"0": -2}}', EARLIEST, LATEST) == EARLIEST
    with pytest.raises(ConfigurationError, match="no partition 7 of topic 'a'"):
        _chosen('{"a": {"7": 0}}', EARLIEST, LATEST)


@pytest.mark.parametrize("text", ["first", "3", '{"a": 3}', '{"a": {"x": 3}}'])
def test_what_are_no_offsets_is_refused(text):
    with pytest.raises(ConfigurationError, match="must be earliest, latest or JSON"):
        parse_offsets(text)
