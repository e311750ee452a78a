"""Spark's Python daemon with all imports done, so that the workers that it forks start faster.

A worker is a fork of the daemon. So it shares the modules that the daemon has imported, the kernels
that the daemon has compiled, and their memory. Without this, each worker spends a second on
imports.
"""

from __future__ import annotations

import contextlib
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
    "evenkey.core.streams",
)


def prepare() -> None:
    """Import what tasks need, and load the compiled kernels of the groupings."""
    for name in _IMPORTS:
        importlib.import_module(name)
    import numpy as np

    from evenkey.core.errors import ConfigurationError
    from evenkey.groupings import available
    from evenkey.spark.sessions.open_task import imported_identity

    operators = importlib.import_module("evenkey.spark")
    for name in operators.__all__:
        getattr(operators, name)
    imported_identity()
    nothing = np.zeros(1)
    with contextlib.suppress(ConfigurationError):  # without numba there are no kernels to load
        for grouping in available().values():
            grouping().router(2).route(nothing.astype(np.uint64), nothing)
    # The workers' garbage collectors do not touch frozen objects, so these objects stay shared.
    gc.freeze()


def quiet(worker: Callable[..., Any]) -> Callable[..., Any]:
    """Make a worker end without printing a traceback when Java stops reading its output.

    Java stops reading once it has enough rows, for example with a ``limit``. Errors of a task are
    sent to Java, so they do not reach this function.
    """

    def work(*given: Any) -> Any:
        try:
            return worker(*given)
        except ConnectionError:
            os._exit(1)  # as Spark's daemon does after it has printed the traceback

    return work


if __name__ == "__main__":
    # Spark also starts daemons for planning, which do not need these imports.
    if _WORKER_MODULE in sys.argv:
        prepare()
    daemon.worker = quiet(daemon.worker)
    daemon.manager()
