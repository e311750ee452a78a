"""The polygons from which subscriptions and publications are drawn, of three nested kinds."""

from __future__ import annotations

from evenkey.papers.publish_subscribe.places.atlas import Atlas
from evenkey.papers.publish_subscribe.places.collisions import read_collisions
from evenkey.papers.publish_subscribe.places.owners import CandidateOwners
from evenkey.papers.publish_subscribe.places.publications import (
    PublicationMix,
    Publications,
    skewed_workers,
)
from evenkey.papers.publish_subscribe.places.readers import read_atlas
from evenkey.papers.publish_subscribe.places.subscriptions import draw_subscriptions
from evenkey.papers.publish_subscribe.places.synthetic import synthetic_atlas

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
