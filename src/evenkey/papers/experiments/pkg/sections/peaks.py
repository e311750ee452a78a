"""Measure how far the imbalance of a stream rises at times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.papers.experiments.pkg.sections.draws import Drawn
from evenkey.papers.experiments.pkg.techniques import PKG
from evenkey.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Peaks(Drawn):
    """PKG from several sources with local estimation, at points of equal distance in time.

    Parameters
    ----------
    workers, sources
        Number of workers, and of sources.
    points
        Number of points.
    """

    kind: ClassVar[str] = "peaks"
    names: ClassVar[tuple[str, ...]] = ("median", "peak", "over_median")

    workers: int
    sources: int
    points: int

    def draw(self, seed: int) -> Mapping[str, float]:
        """Return median and maximum of I(t) over the points, in messages, and their ratio."""
        report = simulate(
            self.stream(seed),
            PKG,
            workers=self.workers,
            sources=self.sources,
            hash="murmur3",
            samples=self.points,
            replication=False,
        )
        imbalance = report.series["imbalance"].to_numpy()
        median, peak = float(np.median(imbalance)), float(imbalance.max())
        return {"median": median, "peak": peak, "over_median": peak / median}
