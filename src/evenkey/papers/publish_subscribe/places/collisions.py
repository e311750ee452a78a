"""Read the locations of collisions from the UK car-collision CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_COLUMNS = {"longitude", "latitude"}


def read_collisions(path: Path) -> NDArray[np.float64]:
    """Read the locations of collisions from a CSV file of any year.

    Parameters
    ----------
    path
        CSV file with a header that contains Longitude and Latitude, in upper or lower case.

    Returns
    -------
    float64[n, 2]
        Longitude and latitude in degrees. Rows without a location are left out, because police
        forces do not report all locations.

    Raises
    ------
    ConfigurationError
        The file cannot be read, lacks a column, or has no row with a location.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            header = [name.strip().strip('"') for name in file.readline().split(",")]
        wanted = [name for name in header if name.lower() in _COLUMNS]
        if len(wanted) != len(_COLUMNS):
            message = f"{path} has no columns Longitude and Latitude; it has: {', '.join(header)}"
            raise ConfigurationError(message)
        kinds = dict.fromkeys(wanted, pa.float64())
        options = pc.ConvertOptions(
            include_columns=wanted, column_types=kinds, null_values=["", "NULL", "NA"]
        )
        table = pc.read_csv(path, convert_options=options).drop_null()
    except (OSError, UnicodeDecodeError, pa.ArrowInvalid) as error:
        message = f"collisions {path} cannot be read ({error}): name a CSV file with a header"
        raise ConfigurationError(message) from error
    columns = {name.lower(): table[name].to_numpy() for name in wanted}
    positions = np.stack([columns["longitude"], columns["latitude"]], axis=1)
    positions = np.asarray(positions[np.isfinite(positions).all(axis=1)])
    if not len(positions):
        message = f"collisions {path} has no row with a position"
        raise ConfigurationError(message)
    return positions
