"""Reading the columns of a DataFrame has no lasting effects."""

from __future__ import annotations

import logging

import pytest
from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger

from evenkey.spark.keys import given_columns


@pytest.mark.classic("looks at the logger of classic sessions")
def test_pyspark_can_log_an_error_after_evenkey_has_kept_it_from_that(session, monkeypatch):
    """The program's first error in a query comes after a call of evenkey."""
    for name in given_columns._LOGS_OF_ERRORS:
        monkeypatch.delitem(logging.Logger.manager.loggerDict, name, raising=False)
    with given_columns.unlogged_errors():
        pass
    assert {type(logging.getLogger(name)) for name in given_columns._LOGS_OF_ERRORS} == {
        PySparkLogger
    }
    with pytest.raises(AnalysisException, match="nothing"):
        session.range(1).select("nothing")
