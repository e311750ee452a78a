"""Outputs that pages show, compared with what their code prints."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from tests.snippets.blocks import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_PARTITIONS = "spark.sql.shuffle.partitions"


@contextlib.contextmanager
def usual_partitions(spark: SparkSession) -> Iterator[None]:
    """Give sessions Spark's default number of shuffle partitions, which outputs in pages name.

    Code of pages gets the active session, which an earlier test may have made.
    """
    confs = [each.conf for each in (spark, spark.getActiveSession() or spark)]
    before = [str(conf.get(_PARTITIONS)) for conf in confs]
    for conf in confs:
        conf.set(_PARTITIONS, "200")
    try:
        yield
    finally:
        for conf, value in zip(confs, before, strict=True):
            conf.set(_PARTITIONS, value)


def not_shown(printed: str, page: str) -> list[str]:
    """List the lines of an output that a page does not show.

    Seconds may differ, and what depends on the number of task slots.
    """
    shown = _anywhere(unwrapped((ROOT / page).read_text("utf-8"))).splitlines()
    return [line for line in _anywhere(printed).splitlines() if line not in shown]


def unwrapped(text: str) -> str:
    r"""Join the long lines of an output that a page wraps; their rest is indented by six spaces.

    Examples
    --------
    >>> unwrapped("  a long line that\n      is wrapped\n  the next line")
    '  a long line that is wrapped\n  the next line'
    """
    return re.sub(r"\n {6}(?=\S)", " ", text)


def _anywhere(text: str) -> str:
    return re.sub(r"(took|gain:|with) \d[\d.]*(x| s| tasks at a time)", r"\1 #\2", text)


def table_is_shown(printed: str, page: str) -> bool:
    """Say whether a page shows a printed table, except for its last column, a speed."""
    shown = (ROOT / page).read_text("utf-8")
    blocks = re.findall(r"^```\w*\n(.*?)^```", shown, re.MULTILINE | re.DOTALL)
    return _without_last_words(printed) in (_without_last_words(unwrapped(each)) for each in blocks)


def _without_last_words(text: str) -> list[list[str]]:
    return [line.split()[:-1] for line in text.splitlines() if line.strip()]
