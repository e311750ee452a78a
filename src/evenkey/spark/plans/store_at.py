"""Where state lies: the store of a place, with the settings that a session has for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.stores import store_at

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

    from evenkey.core.stores import Store

_HADOOP = "spark.hadoop."
_FILE_SYSTEMS = ("spark.hadoop.fs.", "spark.hadoop.dfs.", "spark.hadoop.google.")


def store_of(
    session: SparkSession,
    place: str | Path | Store,
    settings: Mapping[str, str] | None = None,
) -> Store:
    """Give the store at a place, as Spark itself would reach it; connects to nothing yet.

    Parameters
    ----------
    session
        A classic one, or one of Spark Connect. Its ``spark.hadoop.fs.*`` and ``spark.hadoop.dfs.*``
        settings travel with the store; what they lack is found in the environment of each process.
    place
        A path, a URI, or a store, which is given back.
    settings
        What the session does not show, such as ``{"fs.s3a.secret.key": ...}``: a Connect server
        keeps to itself whatever ``spark.redaction.regex`` takes for a secret.

    Raises
    ------
    ConfigurationError
        It is no place, or no store is known for its scheme.

    Examples
    --------
    >>> store = store_of(spark, "/tmp/evenkey-state")
    >>> store.url
    '/tmp/evenkey-state'
    """
    shown = {
        name.removeprefix(_HADOOP): value
        for name, value in session.conf.getAll.items()
        if name.startswith(_FILE_SYSTEMS)
    }
    return store_at(place, {**shown, **(settings or {})})
