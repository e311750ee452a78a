"""The project's own import contracts detect violations."""

from __future__ import annotations

import grimp
import pytest

from tools import contracts
from tools.contracts import FewNames, NoCircles, PackagesOnly


@pytest.fixture
def graph():
    made = grimp.ImportGraph()
    for name in ("evenkey", "evenkey.spark", "evenkey.spark.keys", "evenkey.spark.keys.names"):
        made.add_module(name)
    for name in ("evenkey.kafka", "evenkey.kafka.source", "evenkey.spark.plain"):
        made.add_module(name)
    return made


def contract(kind, **options):
    return kind(name="", session_options={}, contract_options=options)


@pytest.mark.parametrize(
    ("source", "past"),
    [
        ('import_module("evenkey.kafka.source")', ["evenkey.spark.plain -> evenkey.kafka.source"]),
        ('import_module(f"evenkey.kafka.{name}")', ["evenkey.spark.plain -> evenkey.kafka.*"]),
        ('import_module("evenkey.kafka")', []),
        ('import_module("evenkey.spark.keys.names")', []),
    ],
)
def test_a_string_is_no_way_past_a_package(graph, monkeypatch, source, past):
    sources = {"evenkey.spark.plain": source}
    monkeypatch.setattr(contracts, "source_of", lambda module: sources.get(module, ""))
    checked = contract(PackagesOnly).check(graph, verbose=False)
    assert (checked.kept, checked.metadata) == (not past, {"past": past})


def test_a_circle_through_the_init_of_a_package_is_found(graph):
    graph.add_import(importer="evenkey.spark.keys", imported="evenkey.spark.plain")
    assert contract(NoCircles).check(graph, verbose=False).kept
    # Importing the module also runs its package, which imports the importing module.
    graph.add_import(importer="evenkey.spark.plain", imported="evenkey.spark.keys.names")
    checked = contract(NoCircles).check(graph, verbose=False)
    assert set(checked.metadata["circle"]) == {"evenkey.spark.plain", "evenkey.spark.keys"}


@pytest.mark.slow(4)
def test_names_are_counted_in_the_package(graph):
    checked = contract(FewNames, most="0").check(graph, verbose=False)
    assert any(each.startswith("evenkey.joins gives ") for each in checked.metadata["wrong"])
