"""The atlas of places, its readers, and the generators of subscriptions and publications."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
import shapely

from evenkey.core.errors import ConfigurationError
from evenkey.core.metrics import max_load_distance
from evenkey.joins.space.partitioners import kdb
from evenkey.papers.publish_subscribe.places import (
    PublicationMix,
    Publications,
    draw_subscriptions,
    read_atlas,
    read_collisions,
    synthetic_atlas,
)

HERE = Path(__file__).parents[2]
DISTRICTS = (
    Path(os.environ.get("EVENKEY_DATA", HERE.parent / "shared" / "data"))
    / "uk-postcode-districts.geojson.gz"
)


@pytest.fixture(scope="module")
def atlas():
    return synthetic_atlas()


@pytest.fixture(scope="module")
def leaves(atlas):
    subscriptions = draw_subscriptions(atlas, 2000)
    bounds = shapely.bounds(shapely.from_wkb(subscriptions["geometry"].to_numpy()))
    return kdb((bounds[:, :2] + bounds[:, 2:]) / 2, 64)


def shapes_of(table):
    return shapely.from_wkb(table["geometry"].to_numpy())


def test_the_synthetic_country_is_whole(atlas):
    for polygons in (atlas.areas, atlas.districts, atlas.sectors):
        assert shapely.is_valid(polygons).all()
        assert shapely.area(polygons).sum() == pytest.approx(shapely.area(atlas.areas).sum())
    inside = shapely.point_on_surface(atlas.sectors)
    for name in ("area", "district"):
        assert shapely.contains(atlas.polygons(name)[atlas.above_sector(name)], inside).all()


def test_subscriptions_have_the_mix_of_the_predecessor(atlas):
    table = draw_subscriptions(atlas, 5000, seed=1)
    sizes = {name: np.median(shapely.area(atlas.polygons(name))) for name in ("area", "district")}
    areas = shapely.area(shapes_of(table))
    encoded = {name: set(shapely.to_wkb(atlas.polygons(name))) for name in ("area", "district")}
    shares = {
        name: np.mean([each in encoded[name] for each in table["geometry"].to_pylist()])
        for name in encoded
    }
    assert shares["area"] == pytest.approx(0.2, abs=0.02)
    assert shares["district"] == pytest.approx(0.3, abs=0.02)
    assert sizes["area"] > areas.min()
    assert len(set(table["relation"].to_pylist())) == 9
    assert table == draw_subscriptions(atlas, 5000, seed=1)
    assert table != draw_subscriptions(atlas, 5000, seed=2)
    with pytest.raises(ConfigurationError, match="subscriptions = 0"):
        draw_subscriptions(atlas, 0)


@pytest.mark.parametrize(("skew", "mldc"), [(3 / 16, 0.0), (0.3, 0.6), (0.7, 16 * 0.7 / 3 - 1)])
def test_a_share_of_the_stream_falls_on_3_of_16_workers(atlas, leaves, skew, mldc):
    points = Publications(atlas, leaves, 16, PublicationMix(skew, polygons=0)).make(
        np.arange(20_000)
    )
    loads = np.bincount(leaves.locate(*shapely.get_coordinates(shapes_of(points)).T) % 16)
    assert max_load_distance(loads) == pytest.approx(mldc, abs=0.15)
    assert loads[:3].sum() / 20_000 == pytest.approx(skew, abs=0.02)


def test_any_range_can_be_made_again(atlas, leaves):
    made = Publications(atlas, leaves, 16, PublicationMix(0.5), seed=4)
    whole = made.make(np.arange(300))
    assert whole.slice(100, 50).to_pylist() == made.make(np.arange(100, 150)).to_pylist()
    kinds = {shape.geom_type for shape in shapes_of(whole)}
    assert kinds == {"Point", "Polygon"}


def polygon_shares(atlas, leaves, clustering):
    mix = PublicationMix(polygons=0.5, clustering=clustering)
    made = Publications(atlas, leaves, 16, mix)
    return made._polygon_share


def test_clustering_sets_how_far_the_share_of_polygons_varies(atlas, leaves):
    assert set(polygon_shares(atlas, leaves, 0)) == {0.5}
    assert set(polygon_shares(atlas, leaves, 0.5)) == {0.25, 0.75}
    extreme = polygon_shares(atlas, leaves, 1)
    assert set(extreme) == {0, 1}
    hot = np.arange(64) % 16 < 3
    assert extreme[hot].mean() == extreme[~hot].mean() == 0.5


def test_publications_lie_around_given_positions(atlas, leaves):
    positions = np.array([[0.9, 0.9], [-0.5, 0.1]])
    mix = PublicationMix(skew=0.5, polygons=0)
    made = Publications(atlas, leaves, 16, mix, positions=positions)
    points = shapely.get_coordinates(shapes_of(made.make(np.arange(3000))))
    for position in positions:
        leaf = leaves.locate(*position[:, None])
        near = points[leaves.locate(*points.T) == leaf]
        assert np.abs(near - position).max() < 0.1


@pytest.mark.parametrize("bad", [{"skew": 1.1}, {"polygons": -0.1}, {"clustering": 2}])
def test_mixes_are_checked(bad):
    with pytest.raises(ConfigurationError, match=next(iter(bad))):
        PublicationMix(**bad)


def feature(name, ring, key="district"):
    geometry = {"type": "Polygon", "coordinates": [ring]}
    return {"type": "Feature", "properties": {key: name}, "geometry": geometry}


def square(x, y, *, closed=True):
    ring = [[x, y], [x + 2, y], [x + 2, y + 2], [x, y + 2], [x, y]]
    return ring if closed else ring[:-1]


def written(path, features):
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


def test_districts_are_cut_into_sectors_and_united_to_areas(tmp_path):
    features = [feature("AB1", square(0, 0)), feature("AB2", square(2, 0, closed=False))]
    features += [feature("C9", square(5, 5))]
    path = written(tmp_path / "districts.geojson", features)
    (tmp_path / "packed.geojson.gz").write_bytes(gzip.compress(path.read_bytes()))
    for file in (path, tmp_path / "packed.geojson.gz"):
        atlas = read_atlas(file)
        assert list(shapely.area(atlas.sectors)) == [1.0] * 12
        assert list(shapely.area(atlas.areas)) == [8.0, 4.0]
        assert sorted(atlas.district_of) == [0] * 4 + [1] * 4 + [2] * 4


def test_sectors_are_united_to_districts(tmp_path):
    features = [
        feature(name, square(x, 0), key="sector")
        for name, x in (("AB1 1", 0), ("AB1 2", 2), ("AB2 1", 4))
    ]
    atlas = read_atlas(written(tmp_path / "sectors.json", features))
    assert list(shapely.area(atlas.districts)) == [8.0, 4.0]
    assert list(atlas.district_of) == [0, 0, 1]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([], "at least one"),
        ([{"properties": {}, "geometry": None}], "feature 0 has no name"),
        ([{"properties": {"name": "A1"}, "geometry": None}], "geometry of feature 0"),
        ([feature("A1", square(0, 0)), feature("A1 2", square(2, 0))], "keep one of the two kinds"),
    ],
)
def test_polygon_files_that_cannot_be_read_are_reported(tmp_path, features, message):
    with pytest.raises(ConfigurationError, match=message):
        read_atlas(written(tmp_path / "bad.json", features))


def test_a_file_that_is_not_geojson_is_reported(tmp_path):
    (tmp_path / "bad.gz").write_bytes(b"no gzip")
    with pytest.raises(ConfigurationError, match=r"polygons \S+bad.gz cannot be read"):
        read_atlas(tmp_path / "bad.gz")
    with pytest.raises(ConfigurationError, match=r"none\.json cannot be read"):
        read_atlas(tmp_path / "none.json")
    (tmp_path / "deep.json").write_text("[" * 200_000)
    with pytest.raises(ConfigurationError, match=r"deep\.json cannot be read"):
        read_atlas(tmp_path / "deep.json")


@pytest.mark.soak
@pytest.mark.skipif(not DISTRICTS.exists(), reason=f"{DISTRICTS} is not there: set EVENKEY_DATA")
def test_uk_districts():
    atlas = read_atlas(DISTRICTS)
    assert len(atlas.districts) == 2736
    assert len(atlas.areas) == 120
    assert len(atlas.sectors) > 10_000
    assert shapely.is_valid(atlas.sectors).all()


def test_collisions_are_read_and_rows_without_a_position_left_out(tmp_path):
    path = tmp_path / "accidents.csv"
    path.write_text(
        "Accident_Index,Longitude,Latitude,Time\n"
        "1,-0.2,51.5,17:42\n2,,,\n3,-1.5,53.25,08:00\n4,NULL,NULL,\n"
    )
    assert read_collisions(path).tolist() == [[-0.2, 51.5], [-1.5, 53.25]]
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ConfigurationError, match="no columns Longitude and Latitude"):
        read_collisions(path)
    path.write_text("longitude,latitude\n,\n")
    with pytest.raises(ConfigurationError, match="no row with a position"):
        read_collisions(path)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_collisions(tmp_path / "none.csv")
