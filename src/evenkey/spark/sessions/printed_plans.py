"""Read the plan of a DataFrame as Spark prints it; no job runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from evenkey.spark.sessions.access import is_remote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SIZE = re.compile(r"Statistics\(sizeInBytes=([\d.E+]+) (\w+)")
_UNITS = {f"{prefix}B": 1 << 10 * n for n, prefix in enumerate(["", *(f"{c}i" for c in "KMGTPE")])}


def printed_plan(df: DataFrame, mode: str = "simple") -> str:
    """Return the plan of a DataFrame as Spark prints it, in a mode of ``explain``."""
    # `explain` only prints the plan, and what other threads print meanwhile must not be taken.
    plan: str
    if is_remote(df.sparkSession):
        plan = df._explain_string(mode=mode)  # type: ignore[operator] # noqa: SLF001
    else:
        java: Any = df.sparkSession.sparkContext._jvm  # noqa: SLF001
        plan = java.PythonSQLUtils.explainString(df._jdf.queryExecution(), mode)  # noqa: SLF001
    return plan


def estimated_bytes(df: DataFrame) -> float:
    """Return Spark's estimate of the size of a batch, in bytes; infinite if it prints none."""
    size = _SIZE.search(printed_plan(df, "cost"))
    return float("inf") if size is None else float(size[1]) * _UNITS[size[2]]
