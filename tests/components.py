"""Components that not every machine has: a test without one is skipped, unless it must run."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

__all__ = ["skip_without"]


def skip_without(component: str, reason: str) -> NoReturn:
    """Skip the test with a reason; fail where ``EVENKEY_REQUIRE`` names the component."""
    required = os.environ.get("EVENKEY_REQUIRE", "").replace(" ", "").split(",")
    if component in required:
        pytest.fail(f"EVENKEY_REQUIRE names {component}: {reason}")
    pytest.skip(reason)
