"""Sums and means of every type, compared with plain Python."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, localcontext

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.aggregators import Mean, Sum
from evenkey.core.errors import ConfigurationError
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
    aggregator = aggregator.bind(messages.schema)
    parts = [messages.slice(0, cut), messages.slice(cut)]
    partials = pa.concat_tables(aggregator.partial(part, BY) for part in parts)
    finished = aggregator.finish(aggregator.merge(partials, BY), BY)
    return {row["key"]: row[finished.column_names[1]] for row in finished.to_pylist()}


def rows_of(values):
    return st.lists(st.tuples(KEYS, st.none() | values), max_size=30)


@pytest.mark.slow(5)
@given(rows_of(LONGS), st.integers(0, 30))
def test_integer_sums_are_exact_and_null_if_they_do_not_fit(rows, cut):
    """The batches do not matter, although the sum of a part may exceed the total."""
    messages = table(rows, pa.int64())
    groups = naive_values(messages.to_pylist(), BY, "amount")
    sums = {key: sum(values) if values else None for (key,), values in groups.items()}
    fitting = {
        key: total if total is not None and -(2**63) <= total <= LONGEST else None
        for key, total in sums.items()
    }
    assert results(Sum("amount"), messages, cut) == fitting


@pytest.mark.parametrize("count", [2, 3])
def test_a_sum_that_does_not_fit_is_null_and_the_others_go_on(count):
    messages = table([("a", LONGEST)] * count + [("b", 1)], pa.int64())
    assert results(Sum("amount"), messages, 1) == {"a": None, "b": 1}


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.uint16(), pa.uint64()])
def test_all_integers_sum_to_int64(kind):
    messages = table([("a", 100), ("a", 27), ("b", None)], kind)
    partial = Sum("amount").partial(messages, BY)
    assert partial["sum"].to_pylist() == [127, 0]
    bound = Sum("amount").bind(messages.schema)
    finished = bound.finish(partial, BY)
    assert finished.schema.field("sum").type == pa.int64()
    assert finished["sum"].to_pylist() == [127, None]


@pytest.mark.slow(4)
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


@pytest.mark.parametrize("cut", [0, 1, 3, 5])
def test_decimals_of_all_38_digits_sum_or_are_null(cut):
    half = Decimal(49999999999999999999999999999999999999)
    rows = [("a", half)] * 5 + [("b", half), ("b", half), ("c", None)]
    messages = table(rows, pa.decimal128(38, 0))
    both = Decimal(99999999999999999999999999999999999998)
    assert results(Sum("amount"), messages, cut) == {"a": None, "b": both, "c": None}
    # A mean needs four more decimal places, which the type cannot have.
    assert results(Mean("amount"), messages, cut) == {"a": None, "b": None, "c": None}


@pytest.mark.slow(3)
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
