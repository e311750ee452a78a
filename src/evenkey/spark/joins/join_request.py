"""Check the arguments of a join."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, get_args

from evenkey.core.checking import check_one_of, check_workers
from evenkey.spark.joins.join_kinds import Weigh, kind_of
from evenkey.spark.joins.join_on import JoinOn, join_on
from evenkey.spark.keys.given_columns import check_frame
from evenkey.spark.plans.batch_plans import stored_workers
from evenkey.spark.plans.places import check_state
from evenkey.spark.sessions.task_slots import default_workers, shuffle_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Self

    from pyspark.sql import Column, DataFrame

    from evenkey.core.stores import Store
    from evenkey.spark.joins.join_keys import Keyed
    from evenkey.spark.joins.join_kinds import Kind


class JoinRequest(NamedTuple):
    """The checked arguments of a join.

    Parameters
    ----------
    sides
        The sides, with the key columns.
    kind, workers, weigh, state, exact
        As for `join`.
    is_open
        Whether the user left it open who places the keys, so that Spark does if the gain is small.
    plain
        Result of Spark's own join.
    """

    sides: Keyed
    kind: Kind
    workers: int
    weigh: Weigh
    state: str | Path | Store | None
    exact: bool
    is_open: bool
    plain: DataFrame

    @classmethod
    def of(
        cls,
        left: DataFrame,
        right: DataFrame,
        on: str | Column | Sequence[str | Column],
        how: str,
        workers: int | None,
        weigh: Weigh = "output",
        state: str | Path | Store | None = None,
        *,
        exact: bool = False,
    ) -> Self:
        """Check the arguments of `join`.

        Raises
        ------
        ConfigurationError
            An argument of `join` is invalid.
        """
        check_frame(left, "left")
        check_frame(right, "right")
        keys: JoinOn = join_on(on, left, right)
        kind = kind_of(how)
        check_one_of("weigh", weigh, get_args(Weigh))
        check_one_of("exact", exact, (True, False))
        if workers is not None:
            check_workers(workers)
        check_state(state)
        kind.check_streams(left, right)
        session = left.sparkSession
        given = workers or stored_workers(session, state)
        partitions = shuffle_partitions(session)
        is_open = state is None and workers in (None, partitions)
        if given is None:
            streams = left.isStreaming or right.isStreaming
            given = partitions if streams else default_workers(session)
        plain = keys.joined_by_spark(left, right, kind.name)
        sides = keys.keyed(left, right)
        return cls(sides, kind, given, weigh, state, exact, is_open, plain)
