"""Skip a test that needs a component that is not installed, unless the test is required."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

__all__ = ["skip_without"]


def skip_without(component: str, reason: str) -> NoReturn:
    """Skip the test, with a reason; fail if ``EVENKEY_REQUIRE`` names the component."""
    required = os.environ.get("EVENKEY_REQUIRE", "").replace(" ", "").split(",")
    if component in required:
        pytest.fail(f"EVENKEY_REQUIRE names {component}: {reason}")
    pytest.skip(reason)
