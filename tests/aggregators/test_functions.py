"""Folds made from functions."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pytest

from evenkey import fold
from evenkey.checks.aggregators import yield_aggregator_checks
from evenkey.core.ddl import read_columns
from evenkey.core.errors import ConfigurationError, RunError


def plus(first, second):
    return first + (second or 0)


def counted(state, amount):
    known = -1 if amount is None else amount  # a map has no null keys
    state[known] = state.get(known, 0) + 1
    return state


def together(first, second):
    for amount, count in second.items():
        first[amount] = first.get(amount, 0) + count
    return first


def kinds_and_most(state):
    return len(state), max(state.values())


FOLDS = {
    "value": fold(
        columns="amount", zero=0, add=plus, combine=plus, result="total bigint", state_type="long"
    ),
    # If all groups shared one dict, it would contain the counts of all groups.
    "dict": fold(
        columns=["amount"],
        zero={},
        add=counted,
        combine=together,
        answer=kinds_and_most,
        result="amounts long, most long",
        state_type="map<long,long>",
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
        if "pickled" not in name  # two folds of functions are equal only if they are one object
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
        state_type="array<struct<amount: long, at: timestamp>>",
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
    usual = {
        "columns": "amount",
        "zero": 0,
        "add": plus,
        "combine": plus,
        "result": "n long",
        "state_type": "long",
    }
    with pytest.raises(ConfigurationError) as refused:
        result(fold(**(usual | changed)))
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        ("long", 1.5),
        ("long", True),
        ("long", 2**63),
        ("double", Decimal(1)),
        ("string", b"a"),
        ("binary", "a"),
        ("date", dt.datetime(2026, 3, 1, 7)),  # noqa: DTZ001 - no zone is the point
        ("timestamp", dt.datetime(2026, 3, 1, 7)),  # noqa: DTZ001
        ("timestamp_ntz", dt.datetime(2026, 3, 1, 7, tzinfo=dt.UTC)),
        ("decimal(5,2)", Decimal("1.234")),
        ("array<long>", "12"),
        ("array<long>", [1, "2"]),
        ("map<string,long>", [1]),
        ("struct<a: long, b: long>", (1,)),
        ("struct<a: long, b: long>", {"a": 1, "c": 2}),
    ],
)
def test_a_state_that_would_change_is_named(kind, state):
    made = fold(zero=None, add=lambda _: state, combine=max, result="n int", state_type=kind)
    with pytest.raises(RunError, match=r"fold\( -> n\): the state .* change the state, or state_t"):
        result(made)


@pytest.mark.parametrize(
    ("kind", "zero", "state"),
    [
        ("struct<a: long, b: array<string>>", (0, frozenset()), (3, frozenset({"x", "y"}))),
        ("struct<a: long, b: array<long>>", {"a": 0, "b": ()}, {"a": 3, "b": (1, 2)}),
        ("array<struct<a: long, b: date>>", list, [(1, dt.date(2026, 3, 1)), (2, None)]),
        ("map<string,array<double>>", dict, {"a": [float("inf"), 0.1], "b": []}),
        ("map<long,long>", Counter, Counter({3: 4})),
        ("timestamp", None, dt.datetime(2026, 3, 29, 1, 30, 0, 7, tzinfo=dt.UTC)),
        ("decimal(38,10)", Decimal(0), Decimal("12345678901234567890.1234567891")),
        ("binary", b"", b"\x00\xff"),
        ("boolean", None, None),
    ],
)
def test_states_come_back_in_the_form_of_zero(kind, zero, state):
    seen: list[object] = []

    def combine(first, second):
        seen.extend((first, second))
        return first

    def answer(state):
        seen.append(state)
        return 1

    made = fold(
        zero=zero,
        add=lambda _: state,
        combine=combine,
        answer=answer,
        result="n int",
        state_type=kind,
    )
    result(made)
    assert len(seen) == 4
    for each in seen:
        assert each == state
        assert type(each) is type(state)
    assert made.state == pa.schema([("state", read_columns("state", f"state {kind}")[0].type)])


def test_pickled_states_are_a_choice():
    made = fold(
        zero=complex,
        add=lambda state: state + 1j,
        combine=lambda first, second: first + second,
        answer=lambda state: int(state.imag),
        result="n int",
        pickle_state=True,
    )
    assert made.state == pa.schema([("state", pa.binary())])
    assert result(made)["n"].to_pylist() == [2, 1]


def test_a_state_that_cannot_be_pickled_is_named():
    made = fold(zero=0, add=lambda _: lambda: 1, combine=max, result="n int", pickle_state=True)
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
        ({"state_type": "lots"}, "fold: state_type = 'lots': there is no type 'lots'"),
        (
            {"state_type": "map<int"},
            "write it as Spark does: struct<rows: bigint, last: timestamp>",
        ),
        (
            {"state_type": None},
            "declare the type of a state as Spark writes it, such as state_type=",
        ),
        ({"state_type": None}, "or pass pickle_state=True, with which anyone who can write the"),
        ({"pickle_state": True}, "state_type = 'long' and pickle_state = True: give only one"),
        ({"pickle_state": "no"}, "fold: pickle_state = 'no': must be True or False"),
    ],
)
def test_wrong_calls(changed, says):
    usual = {"zero": 0, "add": plus, "combine": plus, "result": "n long", "state_type": "long"}
    with pytest.raises(ConfigurationError) as refused:
        fold(**(usual | changed))
    assert says in str(refused.value)
