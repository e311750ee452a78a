"""The options of join runs: their bounds."""

from __future__ import annotations

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.papers.publish_subscribe.config import JoinConfig


def test_a_cache_has_at_least_a_mebibyte():
    assert JoinConfig(cache_mb=1).cache_mb == 1
    with pytest.raises(ConfigurationError, match="cache_mb"):
        JoinConfig(cache_mb=0)
