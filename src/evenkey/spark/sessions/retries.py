"""A task that runs again: what routes by the order of rows needs Spark to notice other rows."""

from __future__ import annotations

import logging
import weakref
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from evenkey.spark.sessions.starting import session_owner
from evenkey.spark.sessions.versions import SAFE_RETRIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

SORTS = "spark.sql.execution.sortBeforeRepartition"
"""Spark's setting: whether rows are sorted before they are dealt; true by default."""

_warned: weakref.WeakKeyDictionary[object, set[str]] = weakref.WeakKeyDictionary()
"""What was logged, by the owner of the session."""


def warn_of_unsafe_retries(session: SparkSession, why: str) -> None:
    """Warn, once for each reason, that a lost executor may end the job.

    Parameters
    ----------
    session
        Runs the job. Without `SAFE_RETRIES` it does not notice that a task which ran again placed
        its rows on other workers, so rows may be lost or come twice.
    why
        Rows are placed by their order although the input follows a shuffle.
    """
    said = _warned.setdefault(session_owner(session), set())
    if why in said:
        return
    said.add(why)
    off = [name for name in SAFE_RETRIES if _is_off(session, name)]
    if off:
        logger.warning(
            "%s, and the input follows a shuffle: where an executor is lost, rows may be lost or "
            "come twice, as %s is not true (the default in Spark 4.1); set it to true",
            why,
            ", ".join(off),
        )
    else:
        logger.warning(
            "%s, and the input follows a shuffle: where an executor is lost, Spark may fail the "
            "job for indeterminate output",
            why,
        )


def _is_off(session: SparkSession, name: str) -> bool:
    try:
        return str(session.conf.get(name)).lower() != "true"
    except PySparkException:  # managed sessions may keep settings to themselves
        return False
