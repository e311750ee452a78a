"""Spark's Python daemon with the workers' imports made before it forks them.

A worker is a fork of the daemon: what the daemon has imported and compiled, all its workers
have at once, and share its memory. Without this each of them spends a second of its own on
imports.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from pyspark import daemon

if TYPE_CHECKING:
    from collections.abc import Callable

_WORKER_MODULE = "pyspark.worker"
_IMPORTS = (
    "pandas",
    "pyarrow.compute",
    "pyarrow.parquet",
    "pyspark.worker",
    "evenkey.aggregators",
    "evenkey.spark",
    "evenkey.core.streams",
)


def prepare() -> None:
    """Import what tasks need, and load the compiled kernels of the groupings."""
    for name in _IMPORTS:
        importlib.import_module(name)
    import numpy as np

    from evenkey.groupings import available

    nothing = np.zeros(1)
    for grouping in available().values():
        grouping().router(2).route(nothing.astype(np.uint64), nothing)
    # What is frozen is not touched by the workers' garbage collectors, so it stays shared.
    gc.freeze()


def quiet(worker: Callable[..., Any]) -> Callable[..., Any]:
    """Let a worker end without a trace where Java has stopped to read what it gives.

    Java does so with a task that it has enough of, as behind a ``limit``. What goes wrong in a
    worker is sent to Java, and does not come here.
    """

    def work(*given: Any) -> Any:
        try:
            return worker(*given)
        except ConnectionError:
            os._exit(1)  # as Spark's daemon does, once it has printed the trace

    return work


if __name__ == "__main__":
    # Spark starts other daemons for planning, which do nothing that is worth preparing.
    if _WORKER_MODULE in sys.argv:
        prepare()
    daemon.worker = quiet(daemon.worker)
    daemon.manager()
