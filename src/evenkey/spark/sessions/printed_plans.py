"""Read the plan of a DataFrame as Spark prints it; no job runs."""

from __future__ import annotations

import contextlib
import io
import re
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SIZE = re.compile(r"Statistics\(sizeInBytes=([\d.E+]+) (\w+)")
_UNITS = {f"{prefix}B": 1 << 10 * n for n, prefix in enumerate(["", *(f"{c}i" for c in "KMGTPE")])}
_printing = threading.Lock()


def printed_plan(df: DataFrame, mode: str = "simple") -> str:
    """Return the plan of a DataFrame as Spark prints it, in a mode of ``explain``."""
    # A classic DataFrame can print its plan but not return it.
    with _printing, contextlib.redirect_stdout(io.StringIO()) as printed:
        df.explain(mode=mode)
    return printed.getvalue()


def estimated_bytes(df: DataFrame) -> float:
    """Return Spark's estimate of the size of a batch, in bytes; infinite if it prints none."""
    size = _SIZE.search(printed_plan(df, "cost"))
    return float("inf") if size is None else float(size[1]) * _UNITS[size[2]]
