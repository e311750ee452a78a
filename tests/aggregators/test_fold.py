"""Users' own aggregators, whose states are Python objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pytest

from evenkey.aggregators import Fold
from evenkey.checks.aggregators import sample_messages, yield_aggregator_checks
from evenkey.core.errors import ConfigurationError


@dataclass(frozen=True)
class Amounts(Fold):
    """Counts how often each amount occurred, and changes its state in place."""

    state_type = pa.map_(pa.int64(), pa.int64())

    @property
    def columns(self):
        return ("amount",)

    @property
    def result(self):
        return pa.schema([("amounts", pa.int64()), ("most", pa.int64())])

    def zero(self):
        return {}

    def add(self, state, message):
        _, amount = message
        return self.combine(state, {-1 if amount is None else amount: 1})  # a map has no null keys

    def combine(self, first, second):
        for amount, count in second.items():
            first[amount] = first.get(amount, 0) + count
        return first

    def answer(self, state):
        return {"amounts": len(state), "most": max(state.values())}


@dataclass(frozen=True)
class Misnamed(Amounts):
    def answer(self, state):
        return {"amounts": len(state)}


@pytest.mark.parametrize(
    "check", [pytest.param(check, id=name) for name, check in yield_aggregator_checks(Amounts())]
)
def test_conformance(check):
    check()


class Hours(Fold):
    """The hours of the day at which messages came; it accepts times, but not numbers."""

    name = "hours"
    columns = ("at",)
    column_types: ClassVar = {"at": pa.timestamp("us")}
    result = pa.schema([("hours", pa.list_(pa.int64()))])
    state_type = "array<int>"

    def zero(self):
        return frozenset()

    def add(self, state, message):
        _, at = message
        return state if at is None else state | {at.hour}

    def combine(self, first, second):
        return first | second

    def answer(self, state):
        return {"hours": sorted(state)}


@pytest.mark.parametrize(
    "check", [pytest.param(check, id=name) for name, check in yield_aggregator_checks(Hours())]
)
def test_conformance_of_a_fold_of_times(check):
    check()


def test_declared_types_are_asked_for():
    sample = sample_messages(Hours())
    assert pa.types.is_timestamp(sample.schema.field("at").type)
    Hours().bind(pa.schema([("key", pa.int64()), ("at", pa.timestamp("ns", "UTC"))]))
    with pytest.raises(ConfigurationError, match=r"column 'at' is of type int64; it takes timest"):
        Hours().bind(pa.schema([("key", pa.string()), ("at", pa.int64())]))


@pytest.mark.parametrize(
    "kind",
    [pa.bool_(), pa.date32(), pa.decimal128(9, 2), pa.float32(), pa.string(), pa.binary()],
    ids=str,
)
def test_samples_of_every_plain_type(kind):
    fold = Hours()
    object.__setattr__(fold, "column_types", {"at": kind, "key": kind})
    sample = sample_messages(fold)
    assert sample.schema.field("at").type == sample.schema.field("key").type == kind
    assert 0 < sample["at"].null_count < sample.num_rows


def test_a_type_that_cannot_be_made_up_is_named():
    fold = Hours()
    object.__setattr__(fold, "column_types", {"at": pa.list_(pa.int64())})
    with pytest.raises(ConfigurationError, match=r"column 'at'; pass messages="):
        sample_messages(fold)


def test_states_of_groups_are_not_shared():
    messages = pa.table({"key": ["a", "b", "a"], "amount": [1, 1, 1]})
    fold = Amounts()
    finished = fold.finish(fold.partial(messages, ["key"]), ["key"])
    assert finished["most"].to_pylist() == [2, 1]


def test_answers_must_have_the_result_columns():
    messages = pa.table({"key": ["a"], "amount": [1]})
    fold = Misnamed()
    with pytest.raises(ConfigurationError, match=r"gave \['amounts'\], but result has"):
        fold.finish(fold.partial(messages, ["key"]), ["key"])


def test_missing_columns_are_named():
    with pytest.raises(ConfigurationError, match="no column 'amount'; they have: key"):
        Amounts().partial(pa.table({"key": ["a"]}), ["key"])
