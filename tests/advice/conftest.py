"""A small file of skewed visits, and made-up predictions."""

from __future__ import annotations

import pytest

from evenkey.core.streams import generated
from evenkey.reports.advice import Prediction, Sample, Setting


def write_visits(directory):
    """Write a CSV file: 80 % of its 3,000 rows have one country."""
    stream = generated("country-skew-r80", messages=3000)
    keys = stream.texts(stream.ids(0, 3000)).to_pylist()
    rows = [f'"{key}",{number % 7}' for number, key in enumerate(keys)]
    file = directory / "visits.csv"
    file.write_text("\n".join(["country,amount", *rows, ""]), "utf-8")
    return file


@pytest.fixture
def setting(tmp_path):
    return Setting(input=(str(write_visits(tmp_path)),), split="csv", key="country")


def sample_of(name, messages=2000):
    return Sample.take(generated(name, messages=messages))


def predicted(workers, grouping, max_over_mean, dist_cost=1.0, messages=100_000):
    """Make up a prediction, with the maximum load that follows from `max_over_mean`."""
    max_load = round(max_over_mean * messages / workers)
    return Prediction(
        workers,
        grouping,
        max_load,
        max_over_mean,
        dist_cost,
        1.0,
        1 / max_over_mean,
        size_imbalance=0.0,
        cardinality_imbalance=0.0,
        key_split_ratio=dist_cost,
    )
