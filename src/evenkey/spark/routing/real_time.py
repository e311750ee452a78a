"""Check before a query starts that it can run in Spark's real-time mode."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyspark
from pyspark.errors import PySparkException

from evenkey.core.errors import ConfigurationError
from evenkey.groupings import planner_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from evenkey.groupings import Grouping

_STATE = "spark.sql.streaming.stateStore"
_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PROVIDER_SETTING = f"{_STATE}.providerClass"
_FORMAT_SETTING = f"{_STATE}.checkpointFormatVersion"
_LEAST_FORMAT = 2
_LEAST_VERSION = (4, 3)
_LOCAL = re.compile(r"local(?:\[(\d+)(?:,\s*\d+)?\])?")

REAL_TIME_SETTINGS = {
    _PROVIDER_SETTING: _PROVIDER,
    _FORMAT_SETTING: str(_LEAST_FORMAT),
}
"""Settings of Spark that stateful queries need in real time; pass them to `session`.

>>> REAL_TIME_SETTINGS["spark.sql.streaming.stateStore.providerClass"]
'org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider'
>>> REAL_TIME_SETTINGS["spark.sql.streaming.stateStore.checkpointFormatVersion"]
'2'
"""


def check_real_time(
    session: SparkSession,
    grouping: Grouping,
    *,
    time: str | None,
    position: str | None,
    state: object,
) -> None:
    """Check that rows can be routed in real time, and that a restart repeats the routing.

    Parameters
    ----------
    session
        Session of the stream.
    grouping
        Grouping that routes the stream.
    time, position, state
        As for `route`.

    Raises
    ------
    ConfigurationError
        Spark is older than 4.3. Or the grouping routes in Python, which Spark refuses in this mode.
        Or `time` is given, although no grouping uses times in this mode. Or the grouping is
        ``planned`` and `position` or `state` is missing, so a restart could not repeat the routing.
    """
    version = str(session.version)
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < _LEAST_VERSION:
        message = (
            f"Spark is {version}: state in real time needs 4.3 or later; "
            f"pip install 'pyspark>=4.3' (PySpark here is {pyspark.__version__})"
        )
        raise ConfigurationError(message)
    planned = planner_of(grouping) is not None
    if not planned and grouping.native != "hash":
        message = (
            f"grouping = {grouping}: it routes in Python, which Spark refuses in real time; "
            "pass grouping='planned' or 'kg', or leave out real_time=True"
        )
        raise ConfigurationError(message)
    if time is not None:
        message = (
            f"time = {time!r}: no grouping that runs in real time uses it; leave it out "
            "(windows are made by aggregate_by_worker, or by Spark's own groupBy)"
        )
        raise ConfigurationError(message)
    if planned and position is None:
        message = (
            "position = None: in real time, grouping='planned' distributes the rows of split keys "
            "by their positions, so that rows that come again after a restart go to the same "
            "workers; pass position='offset', the column of Kafka's offsets"
        )
        raise ConfigurationError(message)
    if planned and state is None:
        message = (
            "state = None: after a restart in real time, grouping='planned' must find its plans "
            "again, or rows count twice; pass state='directory', and keep it with the checkpoint"
        )
        raise ConfigurationError(message)


def check_state_in_real_time(session: SparkSession, workers: int) -> None:
    """Check that Spark's settings let a query keep state on `workers` workers in real time.

    Parameters
    ----------
    session
        Session of the stream.
    workers
        Number of workers. All tasks of all stages run concurrently: one per partition of the topic
        and one per worker.

    Raises
    ------
    ConfigurationError
        A setting is missing, or the local session has too few task slots. On a cluster, Spark
        itself checks the slots in the first epoch.
    """
    provider = _setting(session, _PROVIDER_SETTING)
    if provider != _PROVIDER:
        raise _unset(_PROVIDER_SETTING, provider, _PROVIDER)
    layout = _setting(session, _FORMAT_SETTING)
    if not layout.isdigit() or int(layout) < _LEAST_FORMAT:
        raise _unset(_FORMAT_SETTING, layout, str(_LEAST_FORMAT))
    slots = _slots(_setting(session, "spark.master"))
    if slots is not None and slots <= workers:
        message = (
            f"spark.master = local[{slots}]: in real time all tasks run concurrently, one per "
            "worker and one per partition of the topic; start the session with "
            f"local[{workers + 1}] or more"
        )
        raise ConfigurationError(message)


def _unset(name: str, value: str, needed: str) -> ConfigurationError:
    return ConfigurationError(
        f"{name} = {value or 'not set'}: state in real time needs {needed}; "
        f"spark.conf.set({name!r}, {needed!r}) before the query starts"
    )


def _setting(session: SparkSession, name: str) -> str:
    try:
        return str(session.conf.get(name) or "")
    except PySparkException:  # not set, or hidden by a managed session
        return ""


def _slots(master: str) -> int | None:
    """Return the number of task slots of a local session; None: it is not local, or unknown."""
    match = _LOCAL.fullmatch(master)
    return None if match is None else int(match[1] or 1)
