"""Throughput, checked by hand; invalid measurements."""

from __future__ import annotations

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.core.metrics import messages_per_second
from evenkey.core.metrics.seen import Paced


def test_hand_checked():
    assert messages_per_second(10, 4) == 2.5
    assert messages_per_second(0, 4) == 0
    assert messages_per_second(0, 0) == 0


@pytest.mark.parametrize(("messages", "seconds"), [(-1, 1), (1, 0), (1, -1), (0, -1)])
def test_senseless(messages, seconds):
    with pytest.raises(ConfigurationError, match=r"give messages >= 0 and seconds > 0"):
        messages_per_second(messages, seconds)


def test_a_run_has_its_messages_over_its_makespan():
    assert Paced(10, 4000.0, [1000.0, 3000.0]).messages_per_second == 2.5
    assert Paced(0, 0.0, []).messages_per_second == 0
