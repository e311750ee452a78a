"""Resolve the location of an output, as users write it, to a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evenkey.core.stores import scheme_of, store_at
from evenkey.spark import store_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from evenkey.core.stores import Store


def output_store(place: str | Path | Store, spark: SparkSession | None = None) -> Store:
    """Return the store of an output.

    Parameters
    ----------
    place
        A path, a URI, or a store, which is returned unchanged.
    spark
        The session whose settings describe access to the store; None: the active session or, if
        there is none, only the environment.

    Raises
    ------
    ConfigurationError
        The URI has an unknown scheme.
    """
    if not isinstance(place, str | Path) or on_a_disk(place):
        return store_at(place)
    if spark is None:
        from pyspark.sql import SparkSession

        spark = SparkSession.getActiveSession()
    return store_at(place) if spark is None else store_of(spark, place)


def on_a_disk(place: str | Path) -> bool:
    """Return whether a location is a path and not a URI; a path needs no Spark settings."""
    return scheme_of(place) == "file"


def below(place: str | Path, name: str) -> str | Path:
    """Return a location inside a location.

    Examples
    --------
    >>> below("s3a://bucket/runs/", "pkg")
    's3a://bucket/runs/pkg'
    """
    return place / name if isinstance(place, Path) else f"{place.rstrip('/')}/{name}"
