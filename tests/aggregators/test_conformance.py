"""Every aggregator of the package passes every check."""

from __future__ import annotations

import pyarrow as pa
import pytest

from evenkey.aggregators import Count, Fold, available, parse
from evenkey.checks.aggregators import sample_messages, yield_aggregator_checks

# Spellings for the aggregators that need parameters; an aggregator may have several.
SPELLINGS = {
    "count": ["count"],
    "sum": ["sum(column=amount)", "sum(column=key_length)"],
    "heavy-hitters": ["heavy-hitters(k=3)", "heavy-hitters(k=2,weight=amount)"],
    "histogram": ["histogram(column=amount,bins=100)"],
    "mean": ["mean(column=amount)"],
    "tally": ["tally(column=amount)"],
    "top-k": ["top-k(k=3)", "top-k(k=2,weight=amount)"],
}


def test_every_aggregator_is_tried():
    assert set(SPELLINGS) == set(available())


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{spelling}-{name}")
        for spellings in SPELLINGS.values()
        for spelling in spellings
        for name, check in yield_aggregator_checks(parse(spelling))
    ],
)
def test_conformance(check):
    check()


def agree_within_errors(whole, cut):
    """Check that intervals overlap, because both contain the true weight."""
    first, second = (
        {(row.get("window"), row["key"]): row for row in table.to_pylist()}
        for table in (whole, cut)
    )
    assert first
    for place in first.keys() & second.keys():
        one, other = first[place], second[place]
        assert one["count"] - one["error"] <= other["count"]
        assert other["count"] - other["error"] <= one["count"]


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{spelling}-{name}")
        for spelling in ("top-k(k=2,capacity=4)", "heavy-hitters(k=2,capacity=4)")
        for name, check in yield_aggregator_checks(parse(spelling), same=agree_within_errors)
    ],
)
def test_few_counters_agree_within_their_errors(check):
    check()


def agree_within_ranks(whole, cut):
    """Check that the bounds of ranks overlap, because both contain the true rank of a point."""
    first, second = (
        {(row.get("window"), row.get("key")): row for row in table.to_pylist()}
        for table in (whole, cut)
    )
    assert first
    assert first.keys() == second.keys()
    for group, row in first.items():
        for point, low, high in zip(row["points"], row["ranks_from"], row["ranks_to"], strict=True):
            other = second[group]
            certain = sum(
                w for w, h in zip(other["weights"], other["highs"], strict=True) if h <= point
            )
            possible = sum(
                w for w, h in zip(other["weights"], other["lows"], strict=True) if h <= point
            )
            assert certain <= high
            assert low <= possible


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=name)
        for name, check in yield_aggregator_checks(
            parse("histogram(column=amount,bins=5)"), same=agree_within_ranks
        )
    ],
)
def test_histograms_of_few_bins_agree_within_their_ranks(check):
    check()


class Forgetful(Count):
    """An aggregator with a defect: it loses the last part of a merge."""

    def merge(self, partials, by):
        return super().merge(partials.slice(0, max(partials.num_rows - 1, 1)), by)


def test_checks_catch_an_aggregator_that_is_wrong():
    checks = dict(yield_aggregator_checks(Forgetful()))
    with pytest.raises(AssertionError):
        checks["check_any_cut_gives_the_same_result-by-key"]()


class Hoarder(Fold):
    """An aggregator with a defect: a median that keeps every value."""

    columns = ("amount",)
    result = pa.schema([("median", pa.int64())])
    state_type = "array<long>"

    def zero(self):
        return []

    def add(self, state, message):
        return [*state, message[1] or 0]

    def combine(self, first, second):
        return sorted(first + second)

    def answer(self, state):
        return {"median": sorted(state)[len(state) // 2]}


def test_checks_catch_a_state_that_grows_with_every_message():
    checks = dict(yield_aggregator_checks(Hoarder()))
    checks["check_any_cut_gives_the_same_result-by-key"]()
    with pytest.raises(AssertionError, match="the state grows"):
        checks["check_state_does_not_grow_with_repetition-by-key"]()


def test_sample_messages_have_the_columns_that_checks_need():
    messages = sample_messages(parse("sum(column=amount)"))
    assert messages.column_names == ["window", "key", "amount"]
    assert messages["amount"].null_count > 0
    assert len(messages["window"].unique()) > 1
