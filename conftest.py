"""What tests and examples in docstrings share: the Spark session, and an event log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["tests.session"]

EVENT_LOG = Path(__file__).parent / "tests" / "diagnosis" / "logs" / "apply-skewed.gz"


@pytest.fixture(autouse=True)
def _names_of_examples(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> None:
    """Give an example `spark` and `event_log` where it names them."""
    if isinstance(request.node, pytest.DoctestItem):
        source = "".join(each.source for each in request.node.dtest.examples)
        if "spark." in source or "(spark" in source:
            doctest_namespace["spark"] = request.getfixturevalue("spark")
        doctest_namespace["event_log"] = EVENT_LOG
