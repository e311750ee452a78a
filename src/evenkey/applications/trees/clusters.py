"""Generated records of several classes: clusters of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.learn import LabelledStream

_CENTRE, _CLUSTER, _RADIUS, _ANGLE = 1, 2, 3, 4
"""Numbers of the hash functions that draw centres, clusters, and radius and angle of a point."""


@dataclass(frozen=True)
class Clusters(LabelledStream):
    """Points around random centres in a unit cube; a class has several centres.

    Cluster number i belongs to class i modulo `classes`. All clusters are equally likely. Points
    are normally distributed around their centre, with deviation `spread` in each feature.

    Parameters
    ----------
    classes
        Number of classes, at least 2.
    features
        Number of features of a record, at least 1.
    clusters
        Number of clusters of each class, at least 1.
    spread
        Standard deviation of points around their centre, above 0; the larger it is, the more the
        classes overlap.

    Raises
    ------
    ConfigurationError
        A parameter is out of its range.

    Examples
    --------
    >>> Clusters(features=2, length=9).records(4, 6)["label"].to_pylist()
    ['class 1', 'class 2']
    """

    family: ClassVar[str] = "clusters"
    summary: ClassVar[str] = "points about centres; each class has several"

    classes: int = 4
    features: int = 8
    clusters: int = 3
    spread: float = 0.15

    def __post_init__(self) -> None:
        check_fields(self)
        least = {"classes": 2, "features": 1, "clusters": 1}
        for name, lowest in least.items():
            if getattr(self, name) < lowest:
                message = f"clusters: {name} = {getattr(self, name)}: must be at least {lowest}"
                raise ConfigurationError(message)
        if not 0 < self.spread < float("inf"):
            message = f"clusters: spread = {self.spread}: must be above 0"
            raise ConfigurationError(message)
        super().__post_init__()

    def _records(self, start: int, stop: int) -> pa.Table:
        count = self.classes * self.clusters
        shape = (-1, self.features)
        centres = self._uniform(np.arange(count * self.features), _CENTRE).reshape(shape)
        cluster = (self._uniform(np.arange(start, stop), _CLUSTER) * count).astype(np.int64)
        numbers = np.arange(start * self.features, stop * self.features)
        # The Box-Muller transform, with logarithms of numbers above 0.
        radius = np.sqrt(-2 * np.log1p(-self._uniform(numbers, _RADIUS)))
        normal = radius * np.cos(2 * np.pi * self._uniform(numbers, _ANGLE))
        points = centres[cluster] + self.spread * normal.reshape(shape)
        offsets = pa.array(np.arange(0, points.size + 1, self.features, dtype=np.int32))
        labels = pa.array([f"class {number}" for number in range(self.classes)])
        return pa.table(
            {
                "label": labels.take(pa.array(cluster % self.classes)),
                "features": pa.ListArray.from_arrays(offsets, pa.array(points.ravel())),
            }
        )
