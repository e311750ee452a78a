"""Places: polygons in three levels, and subscriptions and publications that are drawn from them."""

from __future__ import annotations

from evenkey.pipelines.join.places.atlas import Atlas
from evenkey.pipelines.join.places.collisions import read_collisions
from evenkey.pipelines.join.places.owners import CandidateOwners
from evenkey.pipelines.join.places.publications import PublicationMix, Publications, skewed_workers
from evenkey.pipelines.join.places.readers import read_atlas
from evenkey.pipelines.join.places.subscriptions import draw_subscriptions
from evenkey.pipelines.join.places.synthetic import synthetic_atlas

__all__ = [
    "Atlas",
    "CandidateOwners",
    "PublicationMix",
    "Publications",
    "draw_subscriptions",
    "read_atlas",
    "read_collisions",
    "skewed_workers",
    "synthetic_atlas",
]
