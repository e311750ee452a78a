"""Folds out of functions."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from evenkey import fold
from evenkey.checks.aggregators import yield_aggregator_checks
from evenkey.errors import ConfigurationError, RunError


def plus(first, second):
    return first + (second or 0)


def counted(state, amount):
    state[amount] = state.get(amount, 0) + 1
    return state


def together(first, second):
    for amount, count in second.items():
        first[amount] = first.get(amount, 0) + count
    return first


def kinds_and_most(state):
    return len(state), max(state.values())


FOLDS = {
    "value": fold(columns="amount", zero=0, add=plus, combine=plus, result="total bigint"),
    # A dict that all groups shared would count for all of them.
    "dict": fold(
        columns=["amount"],
        zero={},
        add=counted,
        combine=together,
        answer=kinds_and_most,
        result="amounts long, most long",
    ),
}
MESSAGES = pa.table({"key": ["a", "b", "a"], "amount": [5, None, 7]})


def result(made, messages=MESSAGES):
    partials = pa.concat_tables(
        made.partial(messages.slice(row, 1), by=["key"]) for row in range(messages.num_rows)
    )
    return made.finish(made.merge(partials, by=["key"]), by=["key"])


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{which}-{name}")
        for which, each in FOLDS.items()
        for name, check in yield_aggregator_checks(each)
        if "pickled" not in name  # two folds of functions are the same if they are one object
    ],
)
def test_conformance(check):
    check()


def test_any_state_and_any_type_of_result():
    at = dt.datetime(2026, 3, 1, 7, 30, 0, 123456, tzinfo=dt.UTC)
    messages = MESSAGES.append_column("at", pa.array([at, None, at], pa.timestamp("us", "UTC")))
    made = fold(
        columns=["amount", "at"],
        zero=list,
        add=lambda state, amount, at: [*state, (amount, at)],
        combine=lambda first, second: first + second,
        answer=lambda state: {
            "exact": sum(Decimal("0.01") * (amount or 0) for amount, _ in state),
            "last": max((at for _, at in state if at), default=None),
            "local": None if state[0][1] is None else state[0][1].replace(tzinfo=None),
            "text": repr(len(state)),
            "amounts": [amount for amount, _ in state],
            "both": {"least": min(amount or 0 for amount, _ in state), "rows": len(state)},
        },
        result="exact decimal(22,2), last timestamp, local timestamp_ntz, text string, "
        "amounts array<int>, both struct<least: int, rows: long>",
    )
    found = result(made, messages)
    assert found.schema.field("last").type == pa.timestamp("us", "UTC")
    assert found.to_pylist() == [
        {
            "key": "a",
            "exact": Decimal("0.12"),
            "last": at,
            "local": at.replace(tzinfo=None),
            "text": "2",
            "amounts": [5, 7],
            "both": {"least": 5, "rows": 2},
        },
        {
            "key": "b",
            "exact": Decimal("0.00"),
            "last": None,
            "local": None,
            "text": "1",
            "amounts": [None],
            "both": {"least": 0, "rows": 1},
        },
    ]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"answer": lambda _: "many"}, "answer() gave 'many' for 'n', which is no int64"),
        ({"answer": lambda _: 2**70}, "answer() gave 1180591620717411303424 for 'n'"),
        ({"result": "n long, m long"}, "answer() gave 12; give a tuple of 2 values: n, m"),
        (
            {"result": "n long, m long", "answer": lambda _: {"n": 1}},
            "answer() gave ['n'], but result has the columns ['m', 'n']",
        ),
    ],
)
def test_an_answer_that_is_none_is_named(changed, says):
    usual = {"columns": "amount", "zero": 0, "add": plus, "combine": plus, "result": "n long"}
    with pytest.raises(ConfigurationError) as refused:
        result(fold(**(usual | changed)))
    assert says in str(refused.value)


def test_a_state_that_cannot_be_pickled_is_named():
    made = fold(zero=0, add=lambda _: lambda: 1, combine=max, result="n int")
    with pytest.raises(RunError, match=r"fold\( -> n\): the state .* cannot be pickled"):
        result(made)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"add": 1}, "fold: add = 1: must be a function"),
        ({"combine": None}, "fold: combine = None: must be a function"),
        ({"answer": "n"}, "fold: answer = 'n': must be a function"),
        ({"columns": [1]}, "fold: columns = [1]: must be names"),
        ({"result": "n much"}, "fold: result = 'n much': there is no type 'much'"),
    ],
)
def test_wrong_calls(changed, says):
    usual = {"zero": 0, "add": plus, "combine": plus, "result": "n long"}
    with pytest.raises(ConfigurationError) as refused:
        fold(**(usual | changed))
    assert says in str(refused.value)
