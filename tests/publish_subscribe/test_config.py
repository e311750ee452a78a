"""The options of join runs: their bounds."""

from __future__ import annotations

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.joins import Mode
from evenkey.papers.publish_subscribe.config import MODES, JoinConfig


def test_a_cache_has_at_least_a_mebibyte():
    assert JoinConfig(cache_mb=1).cache_mb == 1
    with pytest.raises(ConfigurationError, match="cache_mb"):
        JoinConfig(cache_mb=0)


def test_each_balance_has_a_mode_with_and_without_a_cache():
    assert {Mode.parse(name) for name in MODES} == {
        Mode(balance, keeps) for balance in (None, "rows", "load") for keeps in (False, True)
    }
    assert [str(Mode.parse(name)) for name in MODES] == [*MODES]


def test_a_slot_is_never_faster_than_its_processor():
    assert JoinConfig(slow_down=1).slow_down == 1
    with pytest.raises(ConfigurationError, match=r"slow_down = 0\.5: must be at least 1"):
        JoinConfig(slow_down=0.5)
