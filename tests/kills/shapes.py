"""Places and publications for joins, and the expected pairs, by comparing all of them."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["all_pairs", "write_places", "write_publications"]

_SIDE = 12
"""Sectors along each side of a square country; a district has 2 times 2, an area 6 times 6."""
_BAD_EVERY = 89


def write_places(path: Path) -> None:
    """Write the country's sectors as GeoJSON, with names like British postcodes."""
    features = []
    for number in range(_SIDE * _SIDE):
        x, y = number % _SIDE, number // _SIDE
        area = "ABCD"[x // 6 + 2 * (y // 6)]
        district = x % 6 // 2 + 3 * (y % 6 // 2) + 1
        corners = [(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1), (x, y)]
        geometry = {"type": "Polygon", "coordinates": [corners]}
        properties = {"sector": f"{area}{district} {x % 2 + 2 * (y % 2)}"}
        features.append({"type": "Feature", "properties": properties, "geometry": geometry})
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))


def write_publications(directory: Path, seed: str, files: int, of_file: int) -> pa.Table:
    """Write Parquet files of publications, and return all publications.

    Points are random, half of them in one corner, some on borders; polygons cover sectors, cross
    them or are inside one; some geometries are invalid.
    """
    random = np.random.default_rng(list(seed.encode()))
    directory.mkdir(parents=True)
    tables = []
    for part in range(files):
        numbers = np.arange(part * of_file, (part + 1) * of_file)
        encoded = [_geometry(random, int(number)) for number in numbers]
        columns = {"publication": pa.array(numbers), "geometry": pa.array(encoded, pa.binary())}
        tables.append(pa.table(columns))
        path = directory / f"part-{part:03d}.parquet"
        pq.write_table(tables[-1], path)
        # Spark reads files in the order of their times.
        os.utime(path, (1_577_836_800 + part, 1_577_836_800 + part))
    return pa.concat_tables(tables)


def _geometry(random: np.random.Generator, number: int) -> bytes | None:
    if number % _BAD_EVERY == _BAD_EVERY // 2:
        return b"no geometry" if number % 2 else None
    x, y = random.random(2) * (_SIDE / 4 if random.random() < 0.5 else _SIDE)
    kind = random.random()
    if kind < 0.5:
        return bytes(shapely.to_wkb(shapely.Point(x, y)))
    if kind < 0.6:
        return bytes(shapely.to_wkb(shapely.Point(round(x), y)))
    if kind < 0.8:
        x, y = int(x), int(y)
        return bytes(shapely.to_wkb(shapely.box(x, y, x + 1, y + 1)))
    width, height = random.random(2) * 2.5
    return bytes(shapely.to_wkb(shapely.box(x, y, x + width, y + height)))


def all_pairs(publications: pa.Table, subscriptions: pa.Table) -> tuple[Counter[Any], list[int]]:
    """Join by comparing every publication with every subscription of each relation.

    A pair is one where "subscription RELATION publication" holds, as `evenkey join` reads them.

    Returns
    -------
    tuple
        Each pair (publication, subscription), with the count 1; and the publications without a
        geometry.
    """
    numbers = publications["publication"].to_numpy()
    published = shapely.from_wkb(
        publications["geometry"].to_numpy(zero_copy_only=False), on_invalid="ignore"
    )
    good = ~shapely.is_missing(published)
    relations = np.array(subscriptions["relation"].to_pylist())
    geometries = shapely.from_wkb(subscriptions["geometry"].to_numpy(zero_copy_only=False))
    names = subscriptions["subscription"].to_numpy()
    pairs: Counter[Any] = Counter()
    for relation in np.unique(relations):
        rows = np.flatnonzero(relations == relation)
        test = getattr(shapely, str(relation).replace("-", "_"))
        for number, geometry in zip(numbers[good], published[good], strict=True):
            holds = test(geometries[rows], geometry)
            pairs.update((int(number), int(name)) for name in names[rows[holds]])
    return pairs, numbers[~good].tolist()
