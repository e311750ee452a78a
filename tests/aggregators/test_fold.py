"""Users' own aggregators, whose states are Python objects."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest

from evenkey.aggregators import Fold
from evenkey.checks.aggregators import yield_aggregator_checks
from evenkey.errors import ConfigurationError


@dataclass(frozen=True)
class Amounts(Fold):
    """How often each amount occurred; changes its state in place."""

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
        return self.combine(state, {amount: 1})

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
