"""Advice as a whole: its JSON."""

from __future__ import annotations

import pytest

from evenkey.advice import Setting, advise
from tests.advice.conftest import sample_of


@pytest.mark.parametrize(
    ("dataset", "needed", "grouping"),
    [("country-skew-r80", True, "planned"), ("uniform(keys=100000)", False, None)],
)
def test_json_says_whether_a_grouping_is_needed(dataset, needed, grouping):
    setting = Setting(("visits.csv",), "csv", "country")
    advice = advise(sample_of(dataset), setting, [4], groupings=["planned"])
    recommendation = advice.to_json()["recommendation"]
    assert (recommendation["needed"], recommendation["grouping"]) == (needed, grouping)
