"""Several aggregators in one pass."""

from __future__ import annotations

import pyarrow as pa
import pytest

from evenkey.aggregators import Algebraic, Count, Sum, Tally, fold, parse, parse_all
from evenkey.checks.aggregators import yield_aggregator_checks
from evenkey.core.errors import ConfigurationError, RunError

SPELLINGS = [
    "orders=count,revenue=sum(column=amount)",
    "orders=count,middle=mean(column=amount)",
    "labels=tally(column=amount),revenue=sum(column=amount)",
]


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{spelling}-{name}")
        for spelling in SPELLINGS
        for name, check in yield_aggregator_checks(parse(spelling))
    ],
)
def test_conformance(check):
    check()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_spelling_is_read_again(spelling):
    assert str(parse(spelling)) == spelling
    assert parse(str(parse(spelling))) == parse(spelling)


def test_each_result_is_with_the_others_of_its_group():
    messages = pa.table({"key": ["a", "b", "a", "c"], "amount": [5, None, 7, 5]})
    made = parse_all(
        {
            "orders": "count",
            "by amount": Tally("amount"),
            "total.sum": Sum("amount"),
            "both": fold(
                columns="amount",
                zero=(0, 0),
                add=lambda state, amount: (state[0] + 1, max(state[1], amount or 0)),
                combine=lambda one, other: (one[0] + other[0], max(one[1], other[1])),
                result="rows int, most long",
                state_type="struct<rows: int, most: long>",
            ),
        }
    )
    assert made.columns == ("amount",)
    for by in (["key"], []):
        bound = made.bind(messages.schema)
        parts = [bound.partial(messages.slice(row, 2), by) for row in (2, 0)]
        found = bound.finish(bound.merge(pa.concat_tables(parts), by), by)
        assert found.schema.names == [*by, *bound.result.names]
        if by:
            assert sorted(found.to_pylist(), key=str) == [
                {
                    "key": "a",
                    "orders": 2,
                    "by amount": [{"value": 5, "count": 1}, {"value": 7, "count": 1}],
                    "total.sum": 12,
                    "both": {"rows": 2, "most": 7},
                },
                {
                    "key": "b",
                    "orders": 1,
                    "by amount": [],
                    "total.sum": None,
                    "both": {"rows": 1, "most": 0},
                },
                {
                    "key": "c",
                    "orders": 1,
                    "by amount": [{"value": 5, "count": 1}],
                    "total.sum": 5,
                    "both": {"rows": 1, "most": 5},
                },
            ]
        else:
            assert found["orders"].to_pylist() == [4]


def test_an_engine_merges_them_if_it_can_merge_each():
    assert isinstance(parse(SPELLINGS[0]), Algebraic)
    assert isinstance(parse(SPELLINGS[1]), Algebraic)
    assert not isinstance(parse(SPELLINGS[2]), Algebraic)


class Twice(Count):
    """An aggregator that returns two rows per group without declaring it."""

    def finish(self, merged, by):
        return pa.concat_tables([merged.select([*by, "count"])] * 2)


def test_undeclared_rows_are_refused():
    made = parse_all({"n": Twice()})
    messages = pa.table({"key": ["a"]})
    with pytest.raises(RunError, match="n = count: it returned 2 rows for 1 groups; set rows"):
        made.finish(made.partial(messages, ["key"]), ["key"])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "aggregators = {}: name a result"),
        ("a=count", "aggregators = 'a=count': name a result"),
        ({"": "count"}, "'' cannot name a result"),
        ({7: "count"}, "7 cannot name a result"),
        ({"n": "cout"}, "aggregators['n']: unknown aggregator 'cout' (did you mean 'count'?)"),
        ({"n": "sum"}, "aggregators['n']: aggregator 'sum' needs column"),
        ({"n": 7}, "aggregators['n']: aggregator = 7: must be a spelling or an object"),
        ({"n": "top-k(k=3)"}, "aggregators['n'] = 'top-k(k=3)': it has one result per window"),
    ],
)
def test_wrong_calls(given, says):
    with pytest.raises(ConfigurationError) as refused:
        parse_all(given)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("n=count,n=sum(column=a)", "two results are named 'n'"),
        ("n=count,sum(column=a)", "'sum(column=a)' has no name"),
        ("n=", "aggregators['n']: '' cannot be read"),
    ],
)
def test_wrong_spellings(text, says):
    with pytest.raises(ConfigurationError) as refused:
        parse(text)
    assert says in str(refused.value)


def test_missing_things_are_named():
    with pytest.raises(ConfigurationError, match="the messages have no column 'amont'"):
        parse("n=count,s=sum(column=amont)").bind(pa.schema([("key", pa.string())]))
