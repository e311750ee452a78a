"""Where state lies: the store of a place, reached as a session's own settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.stores import store_at

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from evenkey.stores import Store


def store_of(session: SparkSession, place: str | Path | Store) -> Store:
    """Give the store at a place.

    Parameters
    ----------
    session
        Whose settings say how it is reached.
    place
        A path, a URI, or a store, which is given back.

    Raises
    ------
    ConfigurationError
        It is no place, or no store is known for its scheme.
    """
    del session
    return store_at(place)
