"""Grouped reductions that Arrow itself does not offer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from evenkey.aggregators import number_groups, reduce_groups
from evenkey.core.errors import ConfigurationError, RunError

if TYPE_CHECKING:
    from evenkey.aggregators.groups import Reduction

WINDOWS = pa.array(
    [{"start": 1, "of": {"day": 1}}, None, {"start": 1, "of": None}, {"start": 1, "of": {"day": 1}}]
)


def test_structs_and_nulls_inside_them_make_groups():
    table = pa.table({"window": WINDOWS, "amount": [1, 2, 4, 8]})
    reduced = reduce_groups(table, ["window"], {"sum": ("amount", "sum")})
    assert reduced.schema.field("window").type == WINDOWS.type
    assert reduced.to_pylist() == [
        {"window": {"start": 1, "of": {"day": 1}}, "sum": 9},
        {"window": None, "sum": 2},
        {"window": {"start": 1, "of": None}, "sum": 4},
    ]
    numbers, groups = number_groups(table, ["window"])
    assert numbers.tolist() == [0, 1, 2, 0]
    assert groups["window"].to_pylist() == reduced["window"].to_pylist()


def test_each_reduction_and_its_nulls():
    table = pa.table({"key": ["a", "a", "b"], "amount": pa.array([3, 5, None], pa.int64())})
    reductions: tuple[Reduction, ...] = ("sum", "min", "max", "values", "messages")
    how = {str(reduction): ("amount", reduction) for reduction in reductions}
    assert reduce_groups(table, ["key"], how).to_pylist() == [
        {"key": "a", "sum": 8, "min": 3, "max": 5, "values": 2, "messages": 2},
        {"key": "b", "sum": None, "min": None, "max": None, "values": 0, "messages": 1},
    ]


def test_no_columns_make_one_group_and_no_rows_none():
    table = pa.table({"amount": [1, 2]})
    assert reduce_groups(table, [], {"n": ("amount", "messages")}).to_pylist() == [{"n": 2}]
    assert reduce_groups(table.slice(2), [], {"n": ("amount", "messages")}).num_rows == 0
    assert number_groups(table, [])[0].tolist() == [0, 0]


def test_columns_of_many_chunks():
    table = pa.concat_tables([pa.table({"key": ["a", "b"]}), pa.table({"key": ["b", "c"]})] * 2)
    numbers, groups = number_groups(table, ["key"])
    assert groups["key"].take(pa.array(numbers)).to_pylist() == table["key"].to_pylist()


def test_wrong_columns_are_named():
    table = pa.table({"key": ["a"]})
    with pytest.raises(ConfigurationError, match=r"no column 'kye' .*; there are: key"):
        reduce_groups(table, ["kye"], {"n": ("key", "messages")})
    with pytest.raises(ConfigurationError, match=r"no column 'amount' .*; there are: key"):
        reduce_groups(table, ["key"], {"n": ("amount", "sum")})
    with pytest.raises(ConfigurationError, match="own column 'key'"):
        reduce_groups(table, ["key"], {"key": ("key", "messages")})
    with pytest.raises(ConfigurationError, match=r"no column 'kye' .*; there are: key"):
        number_groups(table, ["kye"])


def test_numbers_lead_to_the_groups_of_many_rows():
    random = np.random.default_rng(1)
    keys = pa.array(random.integers(0, 3000, 20_000).astype(str))
    table = pa.table({"key": keys, "half": random.integers(0, 2, 20_000)})
    numbers, groups = number_groups(table, ["key", "half"])
    assert groups.num_rows == numbers.max() + 1 == len(set(numbers.tolist()))
    for column in ("key", "half"):
        assert groups[column].take(pa.array(numbers)).to_pylist() == table[column].to_pylist()


def test_a_sum_has_the_requested_type_or_is_an_error():
    table = pa.table({"key": ["a", "a"], "amount": pa.array([1, 2], pa.int64())})
    how: dict[str, tuple[str, Reduction]] = {"sum": ("amount", "sum")}
    reduced = reduce_groups(table, ["key"], how, {"sum": pa.float64()})
    assert reduced.schema.field("sum").type == pa.float64()
    assert reduced["sum"].to_pylist() == [3.0]
    with pytest.raises(RunError, match=r"column 'sum': a value does not fit int8"):
        reduce_groups(pa.table({"key": ["a"], "amount": [300]}), ["key"], how, {"sum": pa.int8()})


def test_a_sum_of_booleans_counts_true():
    table = pa.table({"key": ["a", "a", "a", "b"], "late": [True, None, True, False]})
    how: dict[str, tuple[str, Reduction]] = {"late": ("late", "sum")}
    assert reduce_groups(table, ["key"], how)["late"].to_pylist() == [2, 0]
