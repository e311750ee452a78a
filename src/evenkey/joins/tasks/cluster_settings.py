"""Settings of a cluster on which worker slots stay on their executors."""

from __future__ import annotations

CLUSTER_SETTINGS = {
    # An executor then has only one joining process, which holds all static partitions of the
    # executor's slots.
    "spark.executor.cores": "1",
    # A slot waits for its executor rather than starting elsewhere, with nothing cached.
    "spark.locality.wait": "30s",
    # Otherwise Spark prefers the executor that holds most of a slot's shuffled rows.
    "spark.shuffle.reduceLocality.enabled": "false",
}
"""Spark settings with which each slot stays on its executor.

>>> for name, value in CLUSTER_SETTINGS.items():
...     print(name, value)
spark.executor.cores 1
spark.locality.wait 30s
spark.shuffle.reduceLocality.enabled false
"""
