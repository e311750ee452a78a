"""Advice: measure the skew of a user's keys, and recommend a grouping and a worker count.

>>> from evenkey.core.streams import generated
>>> sample = Sample.take(generated("country-skew-r80", messages=10_000))
>>> advice = advise(sample, Setting(input=("visits.csv",), split="csv", key="country"), [10])
>>> advice.recommendation.grouping, advice.recommendation.workers
('planned', 10)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.lazy import lazy_names
from evenkey.reports.advice.advising import Advice, advise
from evenkey.reports.advice.measure import Skew, TopKey, ZipfFit, fit_zipf, measure
from evenkey.reports.advice.predict import Prediction, predict, usual_groupings, worker_range
from evenkey.reports.advice.program import Setting, check_split
from evenkey.reports.advice.recommend import BALANCED, Recommendation, combined_by_spark, recommend
from evenkey.reports.advice.sample import Sample, Sampling, sampled

if TYPE_CHECKING:
    from evenkey.reports.advice.advice_page import check_page as check_page
    from evenkey.reports.advice.advice_page import write_page as write_page

__all__ = [
    "BALANCED",
    "Advice",
    "Prediction",
    "Recommendation",
    "Sample",
    "Sampling",
    "Setting",
    "Skew",
    "TopKey",
    "ZipfFit",
    "advise",
    "check_split",
    "combined_by_spark",
    "fit_zipf",
    "measure",
    "predict",
    "recommend",
    "sampled",
    "usual_groupings",
    "worker_range",
]

__getattr__ = lazy_names(__name__)
