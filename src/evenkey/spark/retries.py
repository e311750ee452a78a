"""A task that runs again: what routes by the order of rows needs Spark to notice other rows."""

from __future__ import annotations

import logging
import weakref
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from evenkey.spark.sessions import session_owner
from evenkey.spark.versions import SAFE_RETRIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

_looked_at: weakref.WeakSet[object] = weakref.WeakSet()
"""Owners of sessions whose settings have been looked at."""


def warn_of_unsafe_retries(session: SparkSession) -> None:
    """Warn, once for all sessions of an owner, where a task that runs again may lose rows.

    After a shuffle it may see its rows in another order, and place them on other workers than
    before, when some of these have read what it wrote first. Spark notices by `SAFE_RETRIES`.
    """
    owner = session_owner(session)
    if owner in _looked_at:
        return
    _looked_at.add(owner)
    off = [name for name in SAFE_RETRIES if _is_off(session, name)]
    if off:
        logger.warning(
            "%s: is not true, as by default in Spark 4.1: where an executor is lost and the input "
            "of route follows a shuffle, rows may be lost or come twice; set it to true",
            ", ".join(off),
        )


def _is_off(session: SparkSession, name: str) -> bool:
    try:
        return str(session.conf.get(name)).lower() != "true"
    except PySparkException:  # managed sessions may keep settings to themselves
        return False
