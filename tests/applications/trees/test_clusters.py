"""Generated clusters depend on seed and offset alone, and follow their parameters."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from evenkey.applications.trees import Clusters
from evenkey.applications.trees.model import feature_matrix
from evenkey.core.errors import ConfigurationError


def test_two_batches_are_one():
    stream = Clusters(length=100)
    parts = pa.concat_tables([stream.records(0, 37), stream.records(37, 500)])
    assert parts.to_pylist() == stream.records(0, 100).to_pylist()
    assert stream.records(100, 200).num_rows == 0


def test_another_seed_gives_another_stream():
    first, second = (Clusters(length=10, seed=seed).records(0, 10) for seed in (0, 1))
    assert first.to_pylist() != second.to_pylist()


def test_classes_are_as_likely_and_points_as_spread_as_stated():
    records = Clusters(classes=3, features=2, clusters=1, spread=0.2, length=30_000).records(
        0, 30_000
    )
    labels, values = np.array(records["label"].to_pylist()), feature_matrix(records["features"])
    for label in ("class 0", "class 1", "class 2"):
        own = values[labels == label]
        assert len(own) / len(values) == pytest.approx(1 / 3, abs=0.02)
        assert own.std(axis=0) == pytest.approx([0.2, 0.2], rel=0.03)
        assert ((own.mean(axis=0) > -0.01) & (own.mean(axis=0) < 1.01)).all()


@pytest.mark.parametrize(
    ("name", "value"), [("classes", 1), ("features", 0), ("clusters", 0), ("spread", 0)]
)
def test_bad_parameters_are_rejected(name, value):
    with pytest.raises(ConfigurationError, match=f"{name} = {value}"):
        Clusters(**{name: value})
