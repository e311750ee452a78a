"""Names that the public modules offer."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

import pytest

import evenkey
from evenkey import applications, joins
from evenkey import spark as operators
from evenkey.aggregators import available as aggregators
from evenkey.groupings import available as groupings

if TYPE_CHECKING:
    from collections.abc import Callable

MODULES = {
    "evenkey": "PipelineConfig RunReport advise compare diagnose generated read_results run "
    "simulate",
    "evenkey.applications": "heavy_hitters run train classify",
    "evenkey.checks": "yield_aggregator_checks yield_checks",
    "evenkey.joins": "DeadLetters DynamicDistributor SpatialMatch balanced_join refresh",
    "evenkey.kafka": "ClientSettings produce read_results",
    "evenkey.spark": "LoadObserver aggregate fit groupBy observe place route session",
}


def test_all_groupings_and_aggregators_are_at_the_top() -> None:
    classes: list[type[Any]] = [each for each in groupings().values() if not each.peer]
    classes += aggregators().values()
    assert {"PartialKeyGrouping", "Sum"} <= {each.__name__ for each in classes}
    assert [each for each in classes if getattr(evenkey, each.__name__) is not each] == []
    assert {each.__name__ for each in classes} <= set(evenkey.__all__)


@pytest.mark.parametrize("path", MODULES)
def test_a_public_module_offers_what_users_need(path: str) -> None:
    module = importlib.import_module(path)
    for name in MODULES[path].split():
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
