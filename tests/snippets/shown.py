"""Outputs that pages show, compared with what their code prints."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from tests.snippets.blocks import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.sql.leafNodeDefaultParallelism": "8",  # by which evenkey counts task slots
    "spark.sql.shuffle.partitions": "200",  # Spark's default
}


@contextlib.contextmanager
def readers_session(spark: SparkSession) -> Iterator[None]:
    """Give a session the task slots and shuffle partitions that outputs in pages assume."""
    before = {name: spark.conf.get(name, None) for name in _SETTINGS}
    for name, value in _SETTINGS.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def not_shown(printed: str, page: str) -> list[str]:
    """List the lines of an output that a page does not show; seconds may differ."""
    shown = _without_seconds((ROOT / page).read_text("utf-8")).splitlines()
    return [line for line in _without_seconds(printed).splitlines() if line not in shown]


def _without_seconds(text: str) -> str:
    return re.sub(r"took \d+\.\d s", "took # s", text)


def table_is_shown(printed: str, page: str) -> bool:
    """Say whether a page shows a printed table, except for its last column, a speed."""
    shown = (ROOT / page).read_text("utf-8")
    blocks = re.findall(r"^```\w*\n(.*?)^```", shown, re.MULTILINE | re.DOTALL)
    return _without_last_words(printed) in map(_without_last_words, blocks)


def _without_last_words(text: str) -> list[list[str]]:
    return [line.split()[:-1] for line in text.splitlines() if line.strip()]
