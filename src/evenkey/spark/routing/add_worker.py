"""`route`: add a column with the worker of each row, which a grouping chooses by the row's key."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from evenkey.core.checking import check_one_of, number
from evenkey.core.errors import ConfigurationError
from evenkey.groupings import Grouping, parse
from evenkey.spark.keys.given_columns import (
    absent,
    check_frame,
    key_hash,
    number_column,
    time_column,
)
from evenkey.spark.plans.places import check_state
from evenkey.spark.routing.real_time import check_real_time
from evenkey.spark.routing.route_cases import Route, RowsToRoute, route_of
from evenkey.spark.routing.tasks import Load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame

    from evenkey.core.stores import Store
    from evenkey.spark.plans.plan_source import Learned


def route(
    df: DataFrame,
    key: str | Sequence[str],
    grouping: str | Grouping = "planned",
    workers: int = 10,
    *,
    time: str | None = None,
    rate: float = 100.0,
    load: Load = "epoch",
    state: str | Path | Store | None = None,
    column: str = "worker",
    position: str | None = None,
    real_time: bool = False,
) -> DataFrame:
    """Add a column with the worker of each row; the grouping chooses the workers row by row.

    Each task is one source: it routes the rows of its partition in order, with its own local load
    estimate. The workers are a pure function of these ordered rows and of the epoch's routing
    table. Of each row, only the hash of the key goes to Python, and the time if the grouping uses
    times. All other columns stay in the JVM.

    Three cases run as native Spark expressions, without Python: ``kg``, ``planned``, and ``sg`` on
    a batch. So here ``planned`` does not spread keys that become hot unexpectedly; in `aggregate`
    it does. If the grouping uses the frequencies of keys, as ``planned`` does, the keys of a batch
    are counted before its rows are routed. This call runs a separate job for that, unless `state`
    has a plan (see `fit`).

    Parameters
    ----------
    df
        Batch or streaming.
    key
        Key column, or columns that form the key together.
    grouping
        A grouping or its spelling, such as ``"pkg(choices=3)"``. The page "Groupings and their
        costs" lists all of them.
    workers
        Number of workers, at least 1.
    time
        Timestamp column for groupings that use times. Rows should come roughly in the order of
        these times; a time before the latest time so far counts as the latest time. None: in a
        stream, the time of a row is the processing time of the epoch. In a batch, it is the
        position of the row in its partition divided by `rate`.
    rate
        Messages per second and source, used to compute times in a batch without `time`.
    load
        ``epoch``: local loads start at zero in each epoch, so each epoch is balanced separately.
        ``lifetime``: loads carry over from epoch to epoch, as in the papers.
    state
        Storage location of plans, and of the routing tables that carry hot keys from epoch to
        epoch, in addition to the query's checkpoint: a path or URI that the driver and all
        executors share. If an executor does not share the location, the query fails in its first
        epoch with an error of one line. None: a temporary directory on the driver's machine (over
        Connect, on the machine of an executor). This directory is deleted when the query ends, so a
        restarted query learns again. A query that continues with another grouping or number of
        workers learns again too; with `real_time`, such a change is refused.
    column
        Name of the new column.
    position
        Column of whole numbers by which ``planned`` distributes the rows of split keys, such as
        Kafka's offset. It is meant for streams, because Spark does not number their rows.
    real_time
        Whether the stream runs in Spark's real-time mode (``trigger(realTime=...)``, Spark 4.3).
        Options that this mode does not support raise an error. After a restart, some rows may be
        read again; the plan does not change until these rows have come. The page "Use Spark's
        real-time mode" explains this.

    Returns
    -------
    DataFrame
        `df` with the int column `column`, 0 to `workers` - 1. Spark's optimizer treats the column
        as nondeterministic and evaluates it once; use it unchanged to place or aggregate rows.

    Raises
    ------
    ConfigurationError
        An input column is missing, `column` exists already, or the grouping or `workers` is
        invalid. Or the grouping needs a plan for a stream, and `state` has no plan. Or `real_time`
        is set, and the stream cannot run in that mode or could not repeat its routing after a
        restart.
    RunError
        `state` cannot be written.

    Notes
    -----
    A null key is a key like any other. After a shuffle, rows come in any order, and they may come
    in another order when a task runs again. So a batch that follows a shuffle is sorted within each
    partition: by `time` if it is given, then by the contents of the rows. A repeated task then
    sends its rows to the same workers. Under ``kg``, with plans that split no key, and with
    `position`, no sort is needed, and rows keep their order.
    ``spark.sql.execution.sortBeforeRepartition=false`` switches the sort off. A stream cannot be
    sorted. So in a stream, ``planned`` uses `position` or the contents of the rows. For groupings
    that run in Python, one warning is logged: a lost executor may fail the query.

    Examples
    --------
    >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
    >>> routed = clicks.transform(route, "user", "planned", workers=4)
    >>> max(row["count"] for row in routed.groupBy("worker").count().collect()) < 30  # of 100
    True
    """
    return routed(
        df,
        key,
        grouping,
        workers,
        time=time,
        rate=rate,
        load=load,
        state=state,
        column=column,
        position=position,
        real_time=real_time,
    )


def routed(  # noqa: PLR0913 - the options of `route`, and who plans
    df: DataFrame,
    key: str | Sequence[str],
    grouping: str | Grouping,
    workers: int,
    *,
    time: str | None = None,
    rate: float = 100.0,
    load: Load = "epoch",
    state: str | Path | Store | None = None,
    column: str = "worker",
    position: str | None = None,
    learn: bool | Learned = True,
    spread: bool = False,
    contents: Sequence[str] | None = None,
    real_time: bool = False,
) -> DataFrame:
    """Route as `route` does, also with plans that another planner makes.

    Parameters
    ----------
    df, key, grouping, workers, time, rate, load, state, column, position, real_time
        As for `route`.
    learn
        How ``planned`` gets the plans of a stream. True: it makes plans itself, from samples.
        False: another planner writes plans to `state`. A `Learned`: this plan source makes plans
        from what workers report, and `state` is not used.
    spread
        Whether rows under ``planned`` go through Python, which spreads keys that become hot
        unexpectedly. A batch whose keys are counted first has no such keys, so its rows do not go
        through Python.
    contents
        Columns of the rows that later operators use; None: all columns.

    Raises
    ------
    ConfigurationError
        As `route` does.
    """
    check_frame(df)
    grouping = parse(grouping)
    grouping.router(workers)
    hashed = key_hash(df, key)
    clock = None if time is None else time_column(df, time)
    check_one_of("load", load, get_args(Load))
    number("rate", rate, above=0)
    check_state(state)
    absent(df, column)
    given = None if position is None else number_column(df, position, "position")
    check_one_of("real_time", real_time, (True, False))
    if real_time and not df.isStreaming:
        message = (
            "real_time = True: df is a batch, and only streams run in real time; leave out "
            "real_time, or pass a stream"
        )
        raise ConfigurationError(message)
    if real_time:
        check_real_time(df.sparkSession, grouping, time=time, position=position, state=state)
    rows = RowsToRoute(
        df,
        hashed,
        grouping,
        workers,
        clock,
        rate,
        load,
        state,
        column,
        given,
        learn,
        spread,
        contents,
        real_time,
    )
    way: Route = route_of(rows)
    return way.with_worker(rows)
