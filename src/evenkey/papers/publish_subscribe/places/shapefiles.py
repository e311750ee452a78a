"""Read the named polygons of a shapefile: a ``.shp`` and its companion files."""

from __future__ import annotations

import codecs
import os
import re
import struct
import warnings
from typing import TYPE_CHECKING, Any, BinaryIO

import shapely
import shapely.errors
import shapely.geometry

from evenkey.core.errors import ConfigurationError
from evenkey.core.extras import load_extra
from evenkey.papers.publish_subscribe.places.geojson import NAMES

if TYPE_CHECKING:
    from pathlib import Path

_GEOGRAPHIC = re.compile(r"\s*(GEOGCS|GEOGCRS|GEODCRS|GEODETICCRS|GEOGRAPHICCRS)\b", re.IGNORECASE)
_NAME_OF_SYSTEM = re.compile(r'"([^"]*)"')
_CODE_PAGE = re.compile(r"(?:ansi|oem|cp|windows|ibm)?[ _-]*(\d{3,5})", re.IGNORECASE)
_BYTES = "latin-1"
_UTF_8 = 65001
_LONGITUDE, _LATITUDE = 180.0, 90.0


def read_shapefile(path: Path) -> list[tuple[str, shapely.Geometry]]:
    """Read names and geometries of a shapefile.

    Parameters
    ----------
    path
        The ``.shp`` file. The ``.dbf`` file beside it contains the names, in a field ``sector``,
        ``district`` or ``name`` (upper or lower case). The ``.cpg`` file states the encoding of
        the names; without this file, the encoding is UTF-8. The ``.prj`` file may be missing; then
        coordinates must be in the range of degrees. The ``.shx`` file may be missing.

    Raises
    ------
    ConfigurationError
        A file is missing or cannot be read, a record has no name or no shape, or coordinates are
        not longitude and latitude.
    """
    library = load_extra("shapefile", "shapefiles", "reading shapefiles")
    dbf = _beside(path, ".dbf")
    if not path.is_file() or dbf is None:
        missing = path if not path.is_file() else path.with_suffix(".dbf")
        message = (
            f"polygons {path} cannot be read, as {missing.name} is missing: a shapefile is a .shp "
            "with its .dbf (names) beside it"
        )
        raise ConfigurationError(message)
    _check_system(path)
    encoding = _encoding(path)
    try:
        with path.open("rb") as shp, dbf.open("rb") as names, warnings.catch_warnings():
            _check_size(path, shp)
            warnings.simplefilter("ignore")  # the library's; this function checks what matters
            # Latin-1 keeps all bytes. Names are decoded below, because the library would decode
            # them with its own error messages.
            reader = library.Reader(shp=shp, dbf=names, encoding=_BYTES)
            field = _field_of_names(path, reader)
            shapes = list(reader.iterShapes())
            if len(shapes) != reader.numRecords:
                message = (
                    f"polygons {path}: {len(shapes)} shapes and {reader.numRecords} records in "
                    f"{dbf.name}; take both from the same source"
                )
                raise ConfigurationError(message)
            records = [reader.record(number) for number in range(len(shapes))]
            found = [
                (str(record[field] or "").encode(_BYTES).decode(encoding), shape)
                for record, shape in zip(records, shapes, strict=True)
                if record is not None  # None: the record is marked as deleted
            ]
    except UnicodeDecodeError as error:
        message = (
            f"polygons {path}: names are not {encoding} ({error.reason}); write the name of their "
            f"encoding, such as cp1252, into {path.with_suffix('.cpg').name}"
        )
        raise ConfigurationError(message) from error
    except (library.ShapefileException, OSError, struct.error, ValueError, LookupError) as error:
        message = f"polygons {path} cannot be read ({error}): name a whole shapefile"
        raise ConfigurationError(message) from error
    polygons = [
        (_named(path, number, name.strip()), _polygon(path, number, shape))
        for number, (name, shape) in enumerate(found)
    ]
    _check_bounds(path, [geometry for _, geometry in polygons])
    return polygons


def _check_size(path: Path, shp: BinaryIO) -> None:
    """Check that a file is as long as its header says: byte 24 has the length in 2-byte words."""
    (words,) = struct.unpack(">i", shp.read(28)[24:])
    size = shp.seek(0, os.SEEK_END)
    shp.seek(0)
    if size < 2 * words:
        message = f"polygons {path}: the file has only {size} of {2 * words} bytes; copy it again"
        raise ConfigurationError(message)


def _beside(path: Path, suffix: str) -> Path | None:
    """Find the file with the same name and another suffix, in upper or lower case."""
    for each in (path.with_suffix(suffix), path.with_suffix(suffix.upper())):
        if each.is_file():
            return each
    return None


def _check_system(path: Path) -> None:
    file = _beside(path, ".prj")
    if file is None:
        return
    text = file.read_text(encoding="utf-8", errors="replace").removeprefix("\ufeff")
    if _GEOGRAPHIC.match(text):
        return
    named = _NAME_OF_SYSTEM.search(text)
    system = named[1] if named else text[:40]
    message = (
        f"polygons {path}: coordinates are {system}, not longitude and latitude; convert the file "
        "first, for instance by ogr2ogr -t_srs EPSG:4326"
    )
    raise ConfigurationError(message)


def _check_bounds(path: Path, geometries: list[shapely.Geometry]) -> None:
    if not geometries:
        return
    left, bottom, right, top = shapely.total_bounds(geometries)
    if left < -_LONGITUDE or right > _LONGITUDE or bottom < -_LATITUDE or top > _LATITUDE:
        message = (
            f"polygons {path}: coordinates from ({left:.6g}, {bottom:.6g}) to ({right:.6g}, "
            f"{top:.6g}) are not longitude and latitude; convert the file first, for instance by "
            "ogr2ogr -t_srs EPSG:4326"
        )
        raise ConfigurationError(message)


def _encoding(path: Path) -> str:
    file = _beside(path, ".cpg")
    if file is None:
        return "utf-8"
    text = file.read_text(encoding="ascii", errors="replace").strip()
    page = _CODE_PAGE.fullmatch(text)
    number = int(page[1]) if page else 0
    for name in (text, text.replace(" ", ""), "utf-8" if number == _UTF_8 else f"cp{number}"):
        try:
            return codecs.lookup(name).name
        except LookupError:
            continue
    message = f"polygons {path}: {file.name} has the unknown encoding {text!r}; correct it"
    raise ConfigurationError(message)


def _field_of_names(path: Path, reader: Any) -> str:
    fields = [field[0] for field in reader.fields if field[0] != "DeletionFlag"]
    for name in NAMES:
        for field in fields:
            if field.lower() == name:
                return str(field)
    message = (
        f"polygons {path}: there is no field {', '.join(NAMES[:-1])} or {NAMES[-1]}; it has: "
        f"{', '.join(fields)}"
    )
    raise ConfigurationError(message)


def _named(path: Path, number: int, name: str) -> str:
    if not name:
        message = f"polygons {path}: record {number} has no name; give it one"
        raise ConfigurationError(message)
    return name


def _polygon(path: Path, number: int, shape: Any) -> shapely.Geometry:
    if not shape.points:
        message = f"polygons {path}: record {number} has no shape; give it one or drop it"
        raise ConfigurationError(message)
    try:
        return shapely.force_2d(shapely.geometry.shape(shape))
    except (AttributeError, TypeError, ValueError, shapely.errors.ShapelyError) as error:
        message = f"polygons {path}: the shape of record {number} cannot be read ({error}): fix it"
        raise ConfigurationError(message) from error
