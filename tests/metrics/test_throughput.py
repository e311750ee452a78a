"""Throughput, hand-checked, and what senseless measurements give."""

from __future__ import annotations

import pytest

from evenkey.errors import ConfigurationError
from evenkey.metrics import messages_per_second


def test_hand_checked():
    assert messages_per_second(10, 4) == 2.5
    assert messages_per_second(0, 4) == 0
    assert messages_per_second(0, 0) == 0


@pytest.mark.parametrize(("messages", "seconds"), [(-1, 1), (1, 0), (1, -1), (0, -1)])
def test_senseless(messages, seconds):
    with pytest.raises(ConfigurationError, match=r"give messages >= 0 and seconds > 0"):
        messages_per_second(messages, seconds)
