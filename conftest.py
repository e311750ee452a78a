"""What tests and examples in docstrings share: the Spark session, and an event log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import evenkey.papers  # noqa: F401 - whose groupings and data sets are known by their names then

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest_plugins = ["tests.session", "tests.skips"]

EVENT_LOG = Path(__file__).parent / "tests" / "diagnosis" / "logs" / "apply-skewed.gz"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the examples that need Spark to `make check`."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and _needs_spark(item):
            item.add_marker(pytest.mark.slow(1))


def _needs_spark(item: pytest.DoctestItem) -> bool:
    source = "".join(each.source for each in item.dtest.examples)
    return "spark." in source or "(spark" in source


@pytest.fixture(autouse=True)
def _names_of_examples(
    request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]
) -> Iterator[None]:
    """Give an example `spark` and `event_log` where it names them."""
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    doctest_namespace["event_log"] = EVENT_LOG
    if not _needs_spark(request.node):
        yield
        return
    spark = doctest_namespace["spark"] = request.getfixturevalue("spark")
    yield
    spark.conf.unset("spark.sql.streaming.stateStore.providerClass")  # examples of state set it
