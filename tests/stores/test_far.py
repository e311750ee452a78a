"""The stores for other tests pass the checks of stores."""

from __future__ import annotations

import pytest

from tests.stores.conformance import CHECKS
from tests.stores.far import FarStore


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_far(tmp_path, check):
    check(FarStore(tmp_path / "store"))
