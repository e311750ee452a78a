"""Aggregators by their spelling."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evenkey.aggregators import Count, Mean, Sum, TopK, parse
from evenkey.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "aggregator"),
    [
        ("count", Count()),
        ("sum(column=amount)", Sum("amount")),
        ("mean(column=amount)", Mean("amount")),
        ("top-k(k=100)", TopK(100)),
        ("top-k(k=100,capacity=500,weight=bytes)", TopK(100, 500, "bytes")),
    ],
)
def test_spellings(text, aggregator):
    assert parse(text) == aggregator
    assert str(aggregator) == text
    assert parse(aggregator) is aggregator


def test_unknown_names_and_parameters_list_what_there_is():
    with pytest.raises(ConfigurationError, match="there are: count, heavy-hitters, histogram, "):
        parse("median")
    with pytest.raises(ConfigurationError, match="it has: k, capacity, weight"):
        parse("top-k(n=3)")
    with pytest.raises(ConfigurationError, match="needs column"):
        parse("sum")


def test_importing_loads_neither_spark_nor_numba():
    code = (
        "import sys, evenkey.aggregators, evenkey.sketches;"
        "sys.exit(bool({'pyspark', 'numba'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
