"""Joins, section 4.2: how many subscriptions the pipelines compare with a publication."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import shapely

from evenkey.joins import leaves_of
from evenkey.papers.experiments import (
    Dataset,
    Experiment,
    Frame,
    Scale,
    SeveralStreams,
)
from evenkey.papers.publish_subscribe.places import (
    PublicationMix,
    Publications,
    draw_subscriptions,
    synthetic_atlas,
)
from evenkey.reports.pictures import Column, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray


_PUBLICATIONS = 6000
_WORKERS, _PARTITIONS = 16, 128
_SKEW, _POLYGONS, _CLUSTERING = 0.3, 0.3, 1.0
_SUBSCRIPTIONS = (1000, 10_000)
_NAMES = {"sps": "sPS", "spis": "sPIS", "rips": "RIhPS and RIsPS"}


@dataclass(frozen=True)
class ComparedRows(SeveralStreams):
    """Draws subscriptions and publications, and counts those that a pipeline compares.

    Parameters
    ----------
    pipeline
        ``sps`` compares a publication with all subscriptions of its partitions; ``spis`` with
        those whose envelopes intersect its own; ``rips`` as well, but each subscription is in one
        partition.
    subscriptions
        Number of subscriptions.
    """

    kind: ClassVar[str] = "compared-rows"

    pipeline: str
    subscriptions: int

    def once(self) -> tuple[dict[str, float], None]:
        """Return the mean subscriptions of a partition, and those compared per publication."""
        atlas, seed, count = synthetic_atlas(), self.dataset.seed, self.dataset.messages or 0
        drawn = draw_subscriptions(atlas, self.subscriptions, seed)
        shapes = shapely.from_wkb(drawn["geometry"].to_numpy())
        leaves = leaves_of(drawn["geometry"].to_numpy(), "kdb", _PARTITIONS)
        mix = PublicationMix(_SKEW, _POLYGONS, _CLUSTERING)
        made = Publications(atlas, leaves, _WORKERS, mix, seed).make(np.arange(count))
        published = shapely.from_wkb(made["geometry"].to_numpy())
        held = _touched(leaves.touched(shapely.bounds(shapes)), len(shapes))
        asked = _touched(leaves.touched(shapely.bounds(published)), count)
        tree = shapely.STRtree(shapely.box(*shapely.bounds(shapes).T))
        publication, subscription = tree.query(published)
        compared = {
            "sps": int((asked @ held.sum(axis=0)).sum()),
            "spis": int((asked[publication] * held[subscription]).sum()),
            "rips": len(publication),
        }
        figures = {
            "of_partition": float(held.sum() / _PARTITIONS),
            "compared": compared[self.pipeline] / count,
        }
        return figures, None


class ComparedSubscriptions(Experiment):
    id = "joins-section-4-2"
    title = "Subscriptions that the pipelines compare with a publication"
    summary = (
        "No join runs, and nothing is timed: 6,000 publications and their subscriptions are drawn "
        "as for figures 4 and 5, but in an invented country, and pairs are counted. Publications "
        "are 30 % polygons, which fill their own regions, at s = 0.3; 128 partitions by space. A "
        "polygon can meet several partitions, and sPS and sPIS compare it in each of them, so that "
        "the mean can be above the subscriptions of a partition. Medians of three streams, in "
        "brackets all three."
    )

    def scenarios(self, scale: Scale) -> list[ComparedRows]:
        stream = Dataset("publications", scale.messages(_PUBLICATIONS))
        return [
            ComparedRows(stream, pipeline, subscriptions)
            for subscriptions in _SUBSCRIPTIONS
            for pipeline in _NAMES
        ]

    def labelled(self, frame: Frame) -> Frame:
        return frame.assign(name=frame["pipeline"].map(_NAMES))

    def tables(self, frame: Frame) -> list[Table]:
        columns = [
            Column("subscriptions", "Subscriptions", ",d"),
            Column("name", "Pipeline"),
            Column("of_partition", "Subscriptions of a partition by space, mean", ".1f"),
            Column("compared", "Compared with a publication, mean", ",.1f"),
        ]
        return [Table("Compared subscriptions", columns, frame)]


def _touched(pairs: tuple[NDArray[np.int64], NDArray[np.int64]], objects: int) -> NDArray[np.int64]:
    """Return whether each object touches each partition, as 0 and 1."""
    found = np.zeros((objects, _PARTITIONS), dtype=np.int64)
    found[pairs] = 1
    return found
