"""Readers of Python sources that end quietly with their query."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader

if TYPE_CHECKING:
    from types import TracebackType


class QuietReader(DataSourceStreamReader):
    """A reader whose process ends without a word when Java closes its connection.

    A query that is stopped may be waiting for its reader: its thread is interrupted, which closes
    the connection. Spark's process of the reader then fails to send an answer, fails to send that
    error, and prints a trace of both.
    """

    def stop(self) -> None:
        """End the process, where what ends the reader is that nobody listens to it any more."""
        if _java_has_left(sys.exception()):
            os._exit(0)


def _java_has_left(error: BaseException | None) -> bool:
    """Whether an error is of Spark's own connection, and not one that a reader has raised."""
    if not isinstance(error, EOFError | ConnectionError):
        return False
    return not any(module.startswith("evenkey.") for module in _modules(error.__traceback__))


def _modules(trace: TracebackType | None) -> list[str]:
    found = []
    while trace is not None:
        found.append(trace.tb_frame.f_globals.get("__name__", ""))
        trace = trace.tb_next
    return found
