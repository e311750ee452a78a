"""The names that public modules export."""

from __future__ import annotations

import importlib
import inspect
import sys
from typing import TYPE_CHECKING, Any

import pytest

import evenkey
from evenkey import applications, joins
from evenkey import spark as operators
from evenkey.aggregators import available as aggregators
from evenkey.groupings import available as groupings
from tools.site.modules import MODULES

if TYPE_CHECKING:
    from collections.abc import Callable

OFFERED = {
    "evenkey": "PipelineConfig RunReport advise compare diagnose generated read_results run "
    "simulate",
    "evenkey.applications": "heavy_hitters train classify",
    "evenkey.checks": "yield_aggregator_checks yield_checks",
    "evenkey.joins": "DynamicDistributor SpatialMatch balanced_join refresh",
    "evenkey.kafka": "ClientSettings produce read_topic",
    "evenkey.spark": "LoadObserver aggregate fit groupBy observe place route session",
}


def test_there_are_as_many_groupings_as_the_papers_and_we_have() -> None:
    assert len([each for each in groupings().values() if not each.peer]) == 11


def test_every_aggregator_is_public() -> None:
    classes = {each.__name__ for each in aggregators().values()}
    assert "Sum" in classes
    assert classes <= set(evenkey.aggregators.__all__)


def test_the_public_modules_have_84_names_at_most() -> None:
    names = {name: importlib.import_module(name).__all__ for name in MODULES}
    assert len(names["evenkey"]) <= 20
    assert len(names["evenkey.spark"]) <= 24  # decisions 270 and 280
    every = {id(getattr(sys.modules[name], each)) for name in names for each in names[name]}
    assert len(every) <= 84  # decision 300


@pytest.mark.parametrize("path", OFFERED)
def test_a_module_offers_what_users_need(path: str) -> None:
    module = importlib.import_module(path)
    for name in OFFERED[path].split():
        assert name in module.__all__
        assert getattr(module, name).__doc__
    # A module of the same name would hide the public name.
    assert [name for name in module.__all__ if inspect.ismodule(getattr(module, name))] == []


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
