"""Draw subscriptions: polygons of the atlas, each with a spatial relation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import shapely

from evenkey.core.errors import ConfigurationError
from evenkey.joins import RELATIONS
from evenkey.papers.publish_subscribe.places.atlas import KINDS, uniform

if TYPE_CHECKING:
    from evenkey.papers.publish_subscribe.places.atlas import Atlas

SUBSCRIPTION_SHARES = (0.2, 0.3, 0.5)
"""Shares of areas, districts and sectors among subscriptions."""


def draw_subscriptions(atlas: Atlas, count: int, seed: int = 0) -> pa.Table:
    """Draw subscriptions with replacement: 20 % areas, 30 % districts, 50 % sectors.

    Parameters
    ----------
    atlas
        Source of the polygons.
    count
        Number of subscriptions, at least 1.
    seed
        Another seed gives other subscriptions.

    Returns
    -------
    pyarrow.Table
        ``subscription`` (int64, from 0), ``relation`` (each of the nine spatial relations is
        equally likely) and ``geometry`` (WKB).

    Raises
    ------
    ConfigurationError
        `count` is below 1.
    """
    if count < 1:
        message = f"subscriptions = {count}: there must be at least 1"
        raise ConfigurationError(message)
    numbers = np.arange(count)
    ends = np.cumsum(SUBSCRIPTION_SHARES)
    kind = np.searchsorted(ends, uniform(seed, numbers, 101), side="right").clip(max=2)
    which = uniform(seed, numbers, 102)
    geometries = np.empty(count, dtype=object)
    for place, name in enumerate(KINDS):
        rows = np.flatnonzero(kind == place)
        encoded = shapely.to_wkb(atlas.polygons(name))
        geometries[rows] = encoded[(which[rows] * len(encoded)).astype(np.int64)]
    relation = (uniform(seed, numbers, 103) * len(RELATIONS)).astype(np.int64)
    return pa.table(
        {
            "subscription": pa.array(numbers),
            "relation": pa.array(RELATIONS).take(pa.array(relation)),
            "geometry": pa.array(geometries, pa.binary()),
        }
    )
