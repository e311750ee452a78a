"""Sums and means of every type, against plain Python."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, localcontext

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.aggregators import Mean, Sum
from evenkey.errors import ConfigurationError, RunError
from tests.aggregators.naive import naive_values

LONGEST = 2**63 - 1
LONGS = st.one_of(
    st.integers(-(2**63), LONGEST), st.integers(-9, 9), st.sampled_from([LONGEST, -(2**63)])
)
DECIMALS = st.decimals(Decimal("-999.99"), Decimal("999.99"), places=2)
KEYS = st.sampled_from(["a", "b", "c"])
BY = ("key",)


def table(rows, kind):
    keys, values = [key for key, _ in rows], [value for _, value in rows]
    return pa.table({"key": pa.array(keys, pa.string()), "amount": pa.array(values, kind)})


def results(aggregator, messages, cut):
    parts = [messages.slice(0, cut), messages.slice(cut)]
    partials = pa.concat_tables(aggregator.partial(part, BY) for part in parts)
    finished = aggregator.finish(aggregator.merge(partials, BY), BY)
    return {row["key"]: row[finished.column_names[1]] for row in finished.to_pylist()}


def rows_of(values):
    return st.lists(st.tuples(KEYS, st.none() | values), max_size=30)


@given(rows_of(LONGS), st.integers(0, 30))
def test_integer_sums_are_exact_or_raise(rows, cut):
    messages = table(rows, pa.int64())
    groups = naive_values(messages.to_pylist(), BY, "amount")
    expected = {key: sum(values) if values else None for (key,), values in groups.items()}
    parts = (messages.slice(0, cut), messages.slice(cut), messages)
    groups_of_parts = (naive_values(part.to_pylist(), BY, "amount") for part in parts)
    sums = [sum(values) for groups in groups_of_parts for values in groups.values()]
    if all(-(2**63) <= total <= LONGEST for total in sums):
        assert results(Sum("amount"), messages, cut) == expected
    else:
        with pytest.raises(RunError, match="'sum'"):
            results(Sum("amount"), messages, cut)


@pytest.mark.parametrize("count", [2, 3])
def test_integer_sums_never_wrap_around(count):
    messages = table([("a", LONGEST)] * count, pa.int64())
    with pytest.raises(RunError, match="does not fit int64"):
        Sum("amount").partial(messages, BY)
    halves = pa.concat_tables([Sum("amount").partial(messages.slice(0, 1), BY)] * count)
    with pytest.raises(RunError, match="does not fit int64"):
        Sum("amount").merge(halves, BY)


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.uint16(), pa.uint64()])
def test_all_integers_sum_to_int64(kind):
    messages = table([("a", 100), ("a", 27), ("b", None)], kind)
    partial = Sum("amount").partial(messages, BY)
    assert partial.schema.field("sum").type == pa.int64()
    assert partial["sum"].to_pylist() == [127, None]


@given(rows_of(DECIMALS), st.integers(0, 30))
def test_decimal_sums_and_means_are_sparks(rows, cut):
    messages = table(rows, pa.decimal128(5, 2))
    groups = naive_values(messages.to_pylist(), BY, "amount")
    sums = {key: sum(values) if values else None for (key,), values in groups.items()}
    assert results(Sum("amount"), messages, cut) == sums
    with localcontext(prec=60):
        means = {
            key: (sum(values) / len(values)).quantize(Decimal("1e-6"), ROUND_HALF_UP)
            if values
            else None
            for (key,), values in groups.items()
        }
    assert results(Mean("amount"), messages, cut) == means


def test_decimal_types_are_sparks():
    schema = pa.schema([("key", pa.string()), ("amount", pa.decimal128(5, 2))])
    assert Sum("amount").bind(schema).state.field("sum").type == pa.decimal128(15, 2)
    assert Mean("amount").bind(schema).state.field("sum").type == pa.decimal128(15, 2)
    assert Mean("amount").bind(schema).result.field("mean").type == pa.decimal128(9, 6)


def test_decimals_of_all_38_digits_sum_or_raise():
    kind = pa.decimal128(38, 0)
    half = Decimal(49999999999999999999999999999999999999)
    messages = table([("a", half), ("a", half)], kind)
    assert Sum("amount").partial(messages, BY)["sum"].to_pylist() == [
        Decimal(99999999999999999999999999999999999998)
    ]
    with pytest.raises(RunError, match="column 'sum'"):
        Sum("amount").partial(table([("a", half)] * 5, kind), BY)


@given(rows_of(st.integers(-1000, 1000)), st.integers(0, 30))
def test_means_of_integers(rows, cut):
    messages = table(rows, pa.int64())
    groups = naive_values(messages.to_pylist(), BY, "amount")
    expected = {
        key: sum(values) / len(values) if values else None for (key,), values in groups.items()
    }
    assert results(Mean("amount"), messages, cut) == expected


def test_means_of_the_largest_integers_do_not_overflow():
    messages = table([("a", LONGEST)] * 3, pa.int64())
    assert results(Mean("amount"), messages, 1) == {"a": float(2**63)}


def test_floats_keep_nan_and_infinity():
    messages = table([("a", float("inf")), ("a", 1.0), ("b", float("nan"))], pa.float32())
    sums = results(Sum("amount"), messages, 1)
    assert sums["a"] == float("inf")
    assert sums["b"] != sums["b"]


@pytest.mark.parametrize("aggregator", [Sum("amount"), Mean("amount")])
def test_types_come_from_bind(aggregator):
    with pytest.raises(ConfigurationError, match="bind"):
        _ = aggregator.state
    with pytest.raises(ConfigurationError, match="bind"):
        _ = aggregator.result
    with pytest.raises(ConfigurationError, match="no column 'amount'; they have: key"):
        aggregator.bind(pa.schema([("key", pa.string())]))
    for kind in (pa.string(), pa.bool_(), pa.null(), pa.decimal256(50, 2)):
        with pytest.raises(ConfigurationError, match=r"column 'amount' is of type .*cast it"):
            aggregator.bind(pa.schema([("amount", kind)]))


def test_a_column_may_be_grouped_by_and_summed():
    messages = pa.table({"key": [2, 3, 2]})
    assert Mean("key").partial(messages, BY).to_pylist() == [
        {"key": 2, "sum": 4.0, "count": 2},
        {"key": 3, "sum": 3.0, "count": 1},
    ]
