"""The polygons of a run: a file's, or a synthetic country's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.publish_subscribe.places import Atlas, read_atlas, synthetic_atlas

if TYPE_CHECKING:
    from evenkey.papers.publish_subscribe.config import JoinConfig


def atlas_of(config: JoinConfig) -> Atlas:
    """Read or make the polygons that subscriptions and publications come from."""
    return synthetic_atlas() if config.polygons is None else read_atlas(config.polygons)
