"""A function runs where state may be touched: here, or over Connect in a task."""

from __future__ import annotations

import os
import sys

import pytest

from evenkey.errors import RunError
from evenkey.spark import at_state


@pytest.fixture
def remote(monkeypatch):
    """Take any session for one over Connect."""
    # The door's function bears the name of its module.
    monkeypatch.setattr(sys.modules["evenkey.spark.state_access"], "is_remote", lambda _: True)


@pytest.mark.classic("over Connect nothing runs here")
def test_on_a_drivers_own_session_it_runs_here(spark):
    assert at_state(spark, os.getpid) == os.getpid()


@pytest.mark.usefixtures("remote")
def test_over_connect_it_runs_in_a_task(spark):
    assert at_state(spark, os.getpid) != os.getpid()
    assert at_state(spark, lambda: {"a": [1, None]}) == {"a": [1, None]}


@pytest.mark.usefixtures("remote")
@pytest.mark.parametrize("error", [RunError("state is not there: mend"), FileNotFoundError("x")])
def test_errors_come_back_as_they_are(spark, error):
    def fail():
        raise error

    with pytest.raises(type(error)) as raised:
        at_state(spark, fail)
    assert raised.value.args == error.args
