"""Aggregators are found by their spelling."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evenkey.aggregators import Count, Histogram, Mean, Sum, TopK, modules_of, parse
from evenkey.aggregators.base import Cast
from evenkey.core.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "aggregator"),
    [
        ("count", Count()),
        ("sum(column=amount)", Sum("amount")),
        ("mean(column=amount)", Mean("amount")),
        ("top-k(k=100)", TopK(100)),
        ("histogram(column=amount)", Histogram("amount", bins=64, parts=4)),
        ("top-k(k=100,capacity=500,weight=bytes)", TopK(100, 500, "bytes")),
    ],
)
def test_spellings(text, aggregator):
    assert parse(text) == aggregator
    assert str(aggregator) == text
    assert parse(aggregator) is aggregator


def test_unknown_names_and_parameters_list_the_known_ones():
    with pytest.raises(ConfigurationError, match="there are: count, heavy-hitters, histogram, "):
        parse("median")
    with pytest.raises(ConfigurationError, match="it has: k, capacity, weight"):
        parse("top-k(n=3)")
    with pytest.raises(ConfigurationError, match="needs column"):
        parse("sum")


def test_importing_loads_neither_spark_nor_numba():
    code = (
        "import sys, evenkey.aggregators, evenkey.core.sketches;"
        "sys.exit(bool({'pyspark', 'numba'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_users_own_is_named_by_its_module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_shop_folds.py").write_text(
        "import evenkey\n"
        "rows = evenkey.fold(\n"
        "    zero=0, add=lambda n: n + 1, combine=lambda a, b: a + b, result='rows long',\n"
        "    state_type='long')\n"
        "seven = 7\n"
    )
    path = list(sys.path)
    found = parse("own_shop_folds:rows")
    assert found.result.names == ["rows"]
    several = "visits=own_shop_folds:rows,n=count"
    assert parse(several).result.names == ["visits", "n"]
    assert [each.__name__ for each in modules_of(several)] == ["own_shop_folds"]
    assert sys.path == path
    for text, says in (
        ("own_shop_folds:row", "has no such name, and aggregators: rows; make one"),
        ("own_shop_folds:seven", "has there a int, and aggregators: rows"),
        ("own_shop_flods:rows", f"no module 'own_shop_flods', neither in {tmp_path} nor among"),
        ("own_shop_folds.more:rows", "there is no module 'own_shop_folds.more'"),
    ):
        with pytest.raises(ConfigurationError, match=r"^aggregator = ") as refused:
            parse(text)
        assert says in str(refused.value)


def test_a_users_own_comes_before_a_module_of_the_same_name(tmp_path, monkeypatch):
    for place, count in (("here", 1), ("elsewhere", 2)):
        (tmp_path / place).mkdir()
        (tmp_path / place / "own_twice_folds.py").write_text(
            "import evenkey\n"
            "rows = evenkey.fold(\n"
            f"    zero={count}, add=lambda n: n, combine=max, result='rows{count} long',\n"
            "    state_type='long')\n"
        )
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path / "here")
    assert parse("own_twice_folds:rows").result.names == ["rows1"]


def test_an_engine_may_leave_out_a_finish_that_changes_nothing():
    assert Count().casts == {"count": Cast("count")}
    assert Mean("amount").casts is None
