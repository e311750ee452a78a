"""Places: polygons in three levels, and subscriptions and publications that are drawn from them."""

from __future__ import annotations

from evenkey.joins.places.atlas import Atlas
from evenkey.joins.places.collisions import read_collisions
from evenkey.joins.places.owners import CandidateOwners
from evenkey.joins.places.publications import PublicationMix, Publications, skewed_workers
from evenkey.joins.places.readers import read_atlas
from evenkey.joins.places.subscriptions import draw_subscriptions
from evenkey.joins.places.synthetic import synthetic_atlas

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
