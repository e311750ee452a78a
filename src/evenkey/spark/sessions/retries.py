"""Warn if rows are routed by their order, and the order may change when a task runs again."""

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
"""Spark's setting: whether ``repartition`` sorts rows before it distributes them; default true."""

_warned: weakref.WeakKeyDictionary[object, set[str]] = weakref.WeakKeyDictionary()
"""Reasons that were logged, by the owner of the session."""


def warn_of_unsafe_retries(session: SparkSession, why: str) -> None:
    """Warn, once for each reason, about what may happen to the job if an executor is lost.

    If the settings `SAFE_RETRIES` are true, Spark may fail the job. Otherwise Spark does not notice
    that a task which ran again placed its rows on other workers, so rows may be lost or come twice.

    Parameters
    ----------
    session
        Session that runs the job.
    why
        Beginning of the message: why the order of rows matters.
    """
    said = _warned.setdefault(session_owner(session), set())
    if why in said:
        return
    said.add(why)
    off = [name for name in SAFE_RETRIES if _is_off(session, name)]
    if off:
        logger.warning(
            "%s, and the input follows a shuffle: if an executor is lost, rows may be lost or come "
            "twice, because %s is not true (the default in Spark 4.1); set it to true",
            why,
            ", ".join(off),
        )
    else:
        logger.warning(
            "%s, and the input follows a shuffle: if an executor is lost, Spark may fail the job "
            "for indeterminate output",
            why,
        )


def _is_off(session: SparkSession, name: str) -> bool:
    try:
        return str(session.conf.get(name)).lower() != "true"
    except PySparkException:  # managed sessions may hide settings
        return False
