"""Reference join: finds all pairs in one process, to check the result of a distributed join."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from evenkey.core.extras import Extra
from evenkey.joins.space.pairs import PairsDigest
from evenkey.joins.space.relations import RELATIONS

if TYPE_CHECKING:
    import pyarrow as pa
    import shapely
else:
    shapely = Extra("shapely", "geo", "a spatial join")


def reference_digest(
    publications: pa.Table,
    subscriptions: pa.Table,
    subject: Literal["stream", "static"] = "stream",
) -> PairsDigest:
    """Join publications with subscriptions, and return the digest of the matching pairs.

    For each relation, an STRtree finds the pairs. This join shares only GEOS with the pipelines: it
    has no partitions, no candidates, and no mirrored relations.

    Parameters
    ----------
    publications
        Table with the columns ``publication`` (int64) and ``geometry`` (WKB).
    subscriptions
        Table with the columns ``subscription`` (int64), ``relation`` and ``geometry`` (WKB).
    subject
        As for `SpatialMatch`.
    """
    digest = PairsDigest()
    published = shapely.from_wkb(publications["geometry"].to_numpy())
    numbers = publications["publication"].to_numpy()
    relations = np.array(subscriptions["relation"].to_pylist())
    geometries = shapely.from_wkb(subscriptions["geometry"].to_numpy())
    names = subscriptions["subscription"].to_numpy()
    for relation in RELATIONS:
        rows = np.flatnonzero(relations == relation)
        test = getattr(shapely, relation.replace("-", "_"))
        found, static = shapely.STRtree(geometries[rows]).query(published)
        both = published[found], geometries[rows][static]
        holds = test(*(both if subject == "stream" else both[::-1]))
        digest.add(numbers[found[holds]], names[rows[static[holds]]])
    return digest
