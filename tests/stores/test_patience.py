"""Calls to a store are repeated with growing pauses, until they succeed or fail for good."""

from __future__ import annotations

import pytest

from evenkey.core.stores import patience
from evenkey.core.stores.patience import patiently


class Away:
    """A call that fails some times, then succeeds."""

    def __init__(self, failures):
        self.left = failures

    def __call__(self):
        if self.left:
            self.left -= 1
            raise OSError(self.left, "busy")
        return "done"


@pytest.fixture
def pauses(monkeypatch):
    taken: list[float] = []
    monkeypatch.setattr("time.sleep", taken.append)
    monkeypatch.setattr("random.uniform", max)
    return taken


def test_each_pause_is_twice_the_last_one_up_to_two_seconds(pauses):
    assert patiently(Away(7), lambda _: True) == "done"
    assert pauses == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0])


def test_a_call_that_fails_for_good_or_for_too_long_is_not_repeated(pauses, monkeypatch):
    with pytest.raises(OSError, match="busy"):
        patiently(Away(1), lambda _: False)
    monkeypatch.setattr(patience, "PATIENCE", 0.0)
    with pytest.raises(OSError, match="busy"):
        patiently(Away(1), lambda _: True)
    assert pauses == []
