"""What operators print and silence meanwhile concerns their own thread only."""

from __future__ import annotations

import io
import logging
import sys
import threading

from pyspark.logger import PySparkLogger

from evenkey.spark.keys.given_columns import _LOGS_OF_ERRORS, unlogged_errors
from evenkey.spark.sessions.printed_plans import printed_plan


def test_a_plan_is_read_without_touching_what_is_printed(spark, monkeypatch):
    printed = io.StringIO()
    monkeypatch.setattr(sys, "stdout", printed)
    plan = printed_plan(spark.range(3).where("id > 1"))
    assert plan.startswith("== Physical Plan ==")
    assert sys.stdout is printed
    assert printed.getvalue() == ""


def test_errors_of_other_threads_are_logged():
    logger = PySparkLogger.getLogger(_LOGS_OF_ERRORS[0])
    seen: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(record.getMessage())

    handler = Handler()
    logger.addHandler(handler)
    begun, ended = threading.Event(), threading.Event()

    def silent():
        with unlogged_errors():
            logger.error("mine")
            begun.set()
            ended.wait(60)

    other = threading.Thread(target=silent)
    other.start()
    try:
        assert begun.wait(60)
        with unlogged_errors():
            logger.error("silenced, too")
        logger.error("another's")
        ended.set()
        other.join()
        logger.error("after")
    finally:
        ended.set()
        logger.removeHandler(handler)
    assert seen == ["another's", "after"]
