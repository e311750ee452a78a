"""Places: where an output lies, as users spell it, and which store that is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evenkey.core.stores import scheme_of, store_at
from evenkey.spark import store_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from evenkey.core.stores import Store


def output_store(place: str | Path | Store, spark: SparkSession | None = None) -> Store:
    """Give the store of an output.

    Parameters
    ----------
    place
        A path, a URI, or a store, which is given back.
    spark
        Its settings say how the store is reached; without it those of the session that is active,
        and where there is none the environment alone.

    Raises
    ------
    ConfigurationError
        No store is known for the URI.
    """
    if not isinstance(place, str | Path) or on_a_disk(place):
        return store_at(place)
    if spark is None:
        from pyspark.sql import SparkSession

        spark = SparkSession.getActiveSession()
    return store_at(place) if spark is None else store_of(spark, place)


def on_a_disk(place: str | Path) -> bool:
    """Whether a place is a path, which needs no settings of Spark's."""
    return scheme_of(place) == "file"


def below(place: str | Path, name: str) -> str | Path:
    """Give a place in a place.

    Examples
    --------
    >>> below("s3a://bucket/runs/", "pkg")
    's3a://bucket/runs/pkg'
    """
    return place / name if isinstance(place, Path) else f"{place.rstrip('/')}/{name}"
