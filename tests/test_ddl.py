"""Columns and types in Spark's notation: mistakes. tests/spark compares the types with Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest

from evenkey.core.ddl import read_columns
from evenkey.core.errors import ConfigurationError


def test_names_may_be_quoted_and_hold_anything():
    read = read_columns("result", "`a, b``c` INT, f(x) bigint,  a:b decimal ( 12 , 2 )")
    assert read == pa.schema(
        [("a, b`c", pa.int32()), ("f(x)", pa.int64()), ("a:b", pa.decimal128(12, 2))]
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "cannot be read from '' on"),
        ("a", "cannot be read from '' on"),
        ("a int b", "cannot be read from 'b' on"),
        ("a int,", "cannot be read from '' on"),
        ("a array<int", "cannot be read from '' on"),
        ("a map<int>", "cannot be read from '>' on"),
        ("a decimal(x)", "cannot be read from 'x)' on"),
        ("a int not null", "cannot be read from 'not null' on"),
        ("a int, a int", "'a' is named twice; name it once"),
        ("a struct<b: int, b: int>", "'b' is named twice; name it once"),
        ("a blob", "there is no type 'blob'; there are: boolean, "),
        ("a array<blob>", "there is no type 'blob'; there are: boolean, "),
        ("a decimal(39,2)", "there is no type 'decimal(39,2)'"),
        ("a decimal(2,3)", "there is no type 'decimal(2,3)'"),
        (7, "must be text"),
    ],
)
def test_mistakes_are_named(text, says):
    with pytest.raises(ConfigurationError) as refused:
        read_columns("result", text)
    assert str(refused.value).startswith(f"result = {text!r}: ")
    assert says in str(refused.value)
