"""Shapefiles that pyshp writes are read as an atlas."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapefile
import shapely

from evenkey.core.errors import ConfigurationError
from evenkey.papers.publish_subscribe import JoinConfig, run_join
from evenkey.papers.publish_subscribe.places import read_atlas

WGS_84 = (
    'GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],'
    'PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]'
)
BRITISH_GRID = 'PROJCS["OSGB 1936 / British National Grid",GEOGCS["OSGB 1936"],UNIT["metre",1]]'


def square(x, y, side=2.0, *, hole=False):
    """Return corners of a square: clockwise for an outer ring, anticlockwise for a hole."""
    ring = [(x, y), (x, y + side), (x + side, y + side), (x + side, y), (x, y)]
    return ring[::-1] if hole else ring


SECTORS = {
    "AB10 1": [square(0, 50)],
    "AB10 2": [square(2, 50), square(2.5, 50.5, 1.0, hole=True)],
    "AB11 1": [square(4, 50), square(8, 50)],
    "C1 9": [square(0, 54)],
}


def write(path, polygons, *, field="name", prj=WGS_84, encoding="utf-8", kind=shapefile.POLYGON):
    with shapefile.Writer(str(path), shapeType=kind, encoding=encoding) as writer:
        writer.field("id", "N")
        writer.field(field, "C", size=40)
        for number, (name, rings) in enumerate(polygons.items()):
            if rings is None:
                writer.null()
            elif kind == shapefile.POLYGONZ:
                writer.polyz([[(x, y, 7.0) for x, y in ring] for ring in rings])
            else:
                writer.poly(rings)
            writer.record(number, name)
    if prj is not None:
        path.with_suffix(".prj").write_text(prj)
    return path


@pytest.mark.parametrize("field", ["name", "Sector", "SECTOR"])
@pytest.mark.parametrize("kind", [shapefile.POLYGON, shapefile.POLYGONZ])
def test_sectors_have_their_parts_and_holes(tmp_path, field, kind):
    atlas = read_atlas(write(tmp_path / "Sectors.shp", SECTORS, field=field, kind=kind))
    assert list(shapely.area(atlas.sectors)) == [4.0, 3.0, 8.0, 4.0]
    assert list(shapely.get_num_geometries(atlas.sectors)) == [1, 1, 2, 1]
    assert not shapely.has_z(atlas.sectors).any()
    assert list(atlas.district_of) == [0, 0, 1, 2]
    assert list(shapely.area(atlas.districts)) == [7.0, 8.0, 4.0]
    assert list(shapely.area(atlas.areas)) == [15.0, 4.0]
    assert not shapely.covers(atlas.sectors[1], shapely.Point(3, 51))


def test_it_is_read_as_the_same_geojson_is(tmp_path):
    shp = write(tmp_path / "Sectors.shp", SECTORS)
    features = [
        {"properties": {"name": name}, "geometry": shapely.geometry.mapping(polygon)}
        for name, polygon in zip(SECTORS, read_atlas(shp).sectors, strict=True)
    ]
    (tmp_path / "same.geojson").write_text(json.dumps({"features": features}))
    one, other = read_atlas(shp), read_atlas(tmp_path / "same.geojson")
    for kind in ("area", "district", "sector"):
        assert shapely.equals(one.polygons(kind), other.polygons(kind)).all()


def test_districts_are_cut_and_polygons_repaired(tmp_path):
    bow_tie = [(0, 0), (2, 2), (2, 0), (0, 2), (0, 0)]
    spike = [(4, 0), (4, 2), (6, 2), (6, 5), (6, 2), (6, 0), (4, 0)]
    path = write(tmp_path / "d.shp", {"AB1": [bow_tie], "AB2": [spike]}, field="district")
    atlas = read_atlas(path)
    assert shapely.is_valid(atlas.sectors).all()
    assert (shapely.get_dimensions(shapely.get_parts(atlas.districts)) == 2).all()
    assert np.allclose(shapely.area(atlas.districts), [2.0, 4.0])
    assert shapely.area(atlas.sectors).sum() == pytest.approx(6.0)


def test_what_lies_beside_it_may_be_missing_or_in_capitals(tmp_path):
    path = write(tmp_path / "s.shp", SECTORS)
    expected = shapely.area(read_atlas(path).sectors).tolist()
    path.with_suffix(".shx").unlink()
    path.with_suffix(".prj").unlink()
    path.with_suffix(".dbf").rename(path.with_suffix(".DBF"))
    read_atlas.cache_clear()
    assert shapely.area(read_atlas(path).sectors).tolist() == expected


@pytest.mark.parametrize(
    ("written_as", "cpg"),
    [("utf-8", None), ("utf-8", "UTF-8"), ("cp1252", "1252"), ("cp1252", "ANSI 1252")],
)
def test_names_are_read_in_their_encoding(tmp_path, written_as, cpg):
    # The area is the start of the name, so a name that is decoded wrongly has a different area.
    polygons = {"ZÜ1": [square(0, 0)], "ZÜ2": [square(2, 0)], "Z9": [square(4, 0)]}
    path = write(tmp_path / "d.shp", polygons, encoding=written_as)
    if cpg is not None:
        path.with_suffix(".cpg").write_text(cpg)
    elif path.with_suffix(".cpg").exists():
        path.with_suffix(".cpg").unlink()
    from evenkey.papers.publish_subscribe.places.shapefiles import read_shapefile

    assert [name for name, _ in read_shapefile(path)] == list(polygons)


def without(suffix):
    return lambda path: path.with_suffix(suffix).unlink()


def cut(suffix, size):
    return lambda path: path.with_suffix(suffix).write_bytes(
        path.with_suffix(suffix).read_bytes()[:size]
    )


def text(suffix, content):
    return lambda path: path.with_suffix(suffix).write_text(content)


def fewer_records(path):
    write(path.with_name("t.shp"), dict(list(SECTORS.items())[1:]))
    path.with_name("t.dbf").replace(path.with_suffix(".dbf"))


BROKEN: dict[str, Any] = {
    "no dbf": (SECTORS, {}, without(".dbf"), "s.dbf is missing: a shapefile is a .shp with its"),
    "no shp": (SECTORS, {}, without(".shp"), "s.shp is missing"),
    "cut shp": (SECTORS, {}, cut(".shp", 150), "has only 150 of 812 bytes"),
    "empty shp": (SECTORS, {}, cut(".shp", 0), "s.shp cannot be read"),
    "cut dbf": (SECTORS, {}, cut(".dbf", 40), "s.shp cannot be read"),
    "other dbf": (SECTORS, {}, fewer_records, "4 shapes and 3 records in s.dbf"),
    "grid": (
        SECTORS,
        {"prj": BRITISH_GRID},
        None,
        "coordinates are OSGB 1936 / British National Grid, not longitude and latitude; convert",
    ),
    "metres": (
        {"AB1 1": [square(530_000, 180_000)]},
        {"prj": None},
        None,
        r"from \(530000, 180000\) to \(530002, 180002\) are not longitude and latitude",
    ),
    "field": (
        SECTORS,
        {"field": "pcode"},
        None,
        "there is no field sector, district or name; it has: id, pcode",
    ),
    "no name": ({"": [square(0, 0)]}, {}, None, "record 0 has no name"),
    "no shape": ({**SECTORS, "AB1 9": None}, {}, None, "record 4 has no shape"),
    "nothing": ({}, {}, None, "at least one"),
    "mixed": ({"AB1": [square(0, 0)], "AB1 1": [square(0, 0)]}, {}, None, "keep one of"),
    "encoding": (
        {"ZÜ1": [square(0, 0)]},
        {"encoding": "cp1252"},
        None,
        "names are not utf-8 .* into s.cpg",
    ),
    "cpg": (SECTORS, {}, text(".cpg", "klingon"), "s.cpg has the unknown encoding"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_an_error_is_reported_in_one_line(tmp_path, case):
    polygons, options, spoil, message = BROKEN[case]
    path = write(tmp_path / "s.shp", polygons, **options)
    path.with_suffix(".cpg").unlink(missing_ok=True)
    if spoil is not None:
        spoil(path)
    with pytest.raises(ConfigurationError, match=message) as raised:
        read_atlas(path)
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)


def test_the_package_that_reads_them_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "shapefile", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'evenkey\[shapefiles\]'"):
        read_atlas(write(Path(tmp_path) / "s.shp", SECTORS))


@pytest.mark.slow(2)
@pytest.mark.classic("the command line's own run")
@pytest.mark.usefixtures("spark")
def test_a_join_takes_its_polygons_from_one(tmp_path):
    sectors = {f"AB{x} {y}": [square(x / 10, 50 + y / 10, 0.1)] for x in range(6) for y in range(6)}
    report = run_join(
        JoinConfig(
            polygons=write(tmp_path / "s.shp", sectors),
            publications=200,
            subscriptions=60,
            workers=2,
            partitions=4,
            epochs=2,
            pipeline="rihps",
            verify=True,
        )
    )
    assert report.matches > 0
    assert report.pairs_digest == report.expected_digest
