"""Names: what the doors offer, and that an old name gives the new one in one line."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

import pytest

import evenkey
from evenkey import applications, joins
from evenkey import spark as operators
from evenkey.errors import ConfigurationError
from evenkey.groupings import available

if TYPE_CHECKING:
    from collections.abc import Callable

# What is old has no type.
_anything: Any = (evenkey, operators, joins)
ek, eks, joi = _anything
NOTHING: Any = None

DOORS = {
    "evenkey": "PipelineConfig RunReport advise compare diagnose generated read_results run "
    "simulate",
    "evenkey.applications": "JoinConfig compare_joins heavy_hitters run run_join train classify",
    "evenkey.checks": "yield_aggregator_checks yield_checks",
    "evenkey.joins": "DeadLetters DynamicDistributor SpatialMatch balanced_join refresh",
    "evenkey.kafka": "ClientSettings produce read_results",
    "evenkey.spark": "LoadObserver aggregate fit groupBy observe place route session",
}
OLD_IMPORTS = [
    *(
        (f"{room}.{old}", f"{room}.{old}: since version 0.2 it is {old}Grouping")
        for room in ("evenkey", "evenkey.groupings")
        for old in ("DynamicKey", "Key", "PartialKey", "Planned", "Shuffle")
    ),
    ("evenkey.topology.run", "evenkey.topology: since version 0.2 PipelineConfig, run, compare,"),
    ("evenkey.topology.joining.JoinConfig", "JoinConfig, run_join, compare_joins"),
    ("evenkey.topology.kafka.read_results", "what is about Kafka in evenkey.kafka"),
]
STATE = "since version 0.2 it is state; pass state='plans'"
OLD_CALLS: list[tuple[str, Callable[[], Any]]] = [
    (
        f"route: tables = 'plans': {STATE}",
        lambda: eks.route(NOTHING, "user", "dkg", 2, tables="plans"),
    ),
    ("route: plan = {}: since version 0.2 plans are", lambda: eks.route(NOTHING, "user", plan={})),
    (
        "route: learn = False: since version 0.2 evenkey sees",
        lambda: eks.route(NOTHING, "user", learn=False),
    ),
    (f"aggregate: tables = 'plans': {STATE}", lambda: eks.aggregate(NOTHING, tables="plans")),
    (f"fit: tables = 'plans': {STATE}", lambda: eks.fit(NOTHING, tables="plans")),
    (
        f"balanced_join: directory = 'plans': {STATE}",
        lambda: joi.balanced_join(NOTHING, NOTHING, "user", directory="plans"),
    ),
    (f"refresh: directory = 'plans': {STATE}", lambda: joi.refresh(NOTHING, directory="plans")),
    *(
        (
            f"mode = {mode!r}: since version 0.2 it is balance={balance!r}, cache_static={cached}",
            lambda mode=mode: joi.balanced_join(NOTHING, NOTHING, "user", mode=mode),
        )
        for mode, balance, cached in (
            ("static-strl", None, False),
            ("static-stal", None, True),
            ("dynamic-db-strl", "rows", False),
            ("dynamic-db-stal", "rows", True),
            ("dynamic-lb-strl", "load", False),
            ("dynamic-lb-stal", "load", True),
        )
    ),
    (
        "balanced_join: mode = 5: since version 0.2 it is balance='load', 'rows' or None",
        lambda: joi.balanced_join(NOTHING, NOTHING, "user", mode=5),
    ),
    (
        "balance = 'dynamic-db-stal': since version 0.2 it is balance='rows', cache_static=True",
        lambda: joi.balanced_join(NOTHING, NOTHING, "user", "inner", 8, "dynamic-db-stal"),
    ),
]


def test_all_groupings_are_at_the_top() -> None:
    classes = available().values()
    assert len(classes) == 13
    assert [each for each in classes if getattr(evenkey, each.__name__) is not each] == []
    assert {each.__name__ for each in classes} <= set(evenkey.__all__)


@pytest.mark.parametrize("door", DOORS)
def test_a_door_offers_what_users_need(door: str) -> None:
    module = importlib.import_module(door)
    for name in DOORS[door].split():
        assert name in module.__all__
        assert getattr(module, name).__doc__
    # A module of the same name would take the place of what is offered.
    assert [name for name in module.__all__ if inspect.ismodule(getattr(module, name))] == []


@pytest.mark.parametrize(("old", "says"), OLD_IMPORTS)
def test_an_old_import_gives_the_new_name(old: str, says: str) -> None:
    room, _, name = old.rpartition(".")
    with pytest.raises(ImportError) as raised:
        exec(f"from {room} import {name}")  # noqa: S102 - as users write it
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("says", "call"), OLD_CALLS)
def test_an_old_argument_gives_the_new_one(says: str, call: Callable[[], Any]) -> None:
    with pytest.raises(ConfigurationError) as raised:
        call()
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "operator",
    [
        operators.route,
        operators.aggregate,
        operators.fit,
        joins.balanced_join,
        applications.heavy_hitters,
    ],
)
def test_signatures_have_one_word_for_a_thing(operator: Callable[..., Any]) -> None:
    names = inspect.signature(operator).parameters
    assert "state" in names
    assert names.keys().isdisjoint({"tables", "directory", "plan", "learn", "mode"})
