"""The whole advice, as JSON."""

from __future__ import annotations

import dataclasses

import pytest

from evenkey import generated
from evenkey.reports.advice import Sample, Setting, advise
from tests.advice.conftest import sample_of


@pytest.mark.parametrize(
    ("dataset", "needed", "grouping"),
    [("country-skew-r80", True, "planned"), ("uniform(keys=100000)", False, None)],
)
def test_json_has_whether_a_grouping_is_needed(dataset, needed, grouping):
    setting = Setting(("visits.csv",), "csv", "country")
    advice = advise(sample_of(dataset), setting, [4], groupings=["planned"])
    recommendation = advice.to_json()["recommendation"]
    assert (recommendation["needed"], recommendation["grouping"]) == (needed, grouping)


def test_json_has_the_sampling_unless_all_lines_were_read():
    setting, whole = Setting(("visits.csv",), "csv", "country"), sample_of("country-skew-r80")
    part = dataclasses.replace(whole, of_lines=9000, sampling="first")
    for sample, of_lines, sampling in ((whole, 2000, None), (part, 9000, "first")):
        advice = advise(sample, setting, [4], groupings=["pkg"])
        assert advice.to_json()["sample"] == {
            "lines": 2000,
            "of_lines": of_lines,
            "sampling": sampling,
            "rejected": 0,
        }
        assert (advice.caution is None) == (sampling is None)


@pytest.mark.soak(11)
def test_a_sample_of_a_generated_stream_gets_more_workers():
    sample = Sample.take(generated("zipf(z=1.2,keys=1000)", messages=20_000))
    setting = Setting(input=("clicks.csv",), split="csv", key="user")
    recommendation = advise(sample, setting, workers=[8, 16]).recommendation
    assert (recommendation.grouping, recommendation.workers) == ("planned", 16)
