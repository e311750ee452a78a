"""Check that a restarted stream keeps its aggregator; warn if users' functions in it change.

When a query restarts, Spark compares the types of its states with those in the checkpoint, but not
their meaning: states of ``sum(column=a)`` and of ``sum(column=b)`` have equal types. So evenkey
stores the aggregator of each query in `state`.
"""

from __future__ import annotations

import json
import logging
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.whole_files import check_format
from evenkey.spark.plans.tables import FORMAT, NEW_STATE, RoutingTable, layout_kept
from evenkey.spark.sessions.before_epoch import with_epoch_words
from evenkey.spark.sessions.query_events import listen

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from evenkey.core.stores import SharedMark
    from evenkey.spark.plans.tables import RoutingTables
    from evenkey.spark.sessions.before_epoch import Words
    from evenkey.spark.sessions.task_id import TaskId

logger = logging.getLogger(__name__)

_PLACE, _LAYOUT = "_aggregators", "layout"
_METRIC = "evenkey-functions-"
_CHANGED = "changed"
_COLUMN = "__evenkey_changed"


@dataclass(frozen=True)
class SameAggregator:
    """Checks in each epoch that a query still has the aggregator that it began with.

    Parameters
    ----------
    tables
        Routing tables in `state`, with the query's current layout: grouping and worker count.
    mark
        Mark with which a task checks that it sees the state.
    spelled
        The aggregator that the query has now, as text.
    code
        Digest of the code of users' functions in the aggregator; empty: it has no such functions.
    why
        Half a sentence that says why the layout must stay the same too; empty: the layout may
        change.
    """

    tables: RoutingTables
    mark: SharedMark
    spelled: str
    code: str
    why: str = ""

    def check(self, task: TaskId) -> bool:
        """Check that a query has the aggregator that it began with; record changed functions.

        Returns
        -------
        bool
            Whether this is the first epoch since the code of the users' functions changed.

        Raises
        ------
        ConfigurationError
            The query began with another aggregator, or with another layout that must not change.
        RunError
            The state cannot be read or written, or this host does not see the state.
        """
        self.mark.check()
        if self.why:
            with layout_kept(self.tables, self.why):
                self.tables.under(task.query).under(_LAYOUT).pin(0, RoutingTable())
        store = self.tables.store.under(_PLACE)
        name = f"{task.query}.json"
        path = store.path(name)
        now = {"format": FORMAT, "aggregator": self.spelled, "code": self.code, _CHANGED: None}
        try:
            content = store.find(name)
            before = None if content is None else json.loads(content)
            if before is None:
                store.put(name, json.dumps(now).encode())
                before = now
            number, spelled = before["format"], before["aggregator"]
            changed = before[_CHANGED]
            if spelled == self.spelled and before["code"] != self.code:
                changed = task.epoch
                store.put(name, json.dumps({**now, _CHANGED: changed}).encode())
        except (OSError, ValueError, KeyError, TypeError) as error:
            message = (
                f"{path}, which says what this query aggregates, cannot be read or written "
                f"({error}): restore it, or start with a new checkpoint and a new state"
            )
            raise RunError(message) from error
        check_format(path, number, FORMAT, NEW_STATE)
        if spelled != self.spelled:
            message = (
                f"aggregator = {self.spelled!r}: the checkpoint of this query has states of "
                f"{spelled!r}: pass that aggregator, or start with a new checkpoint"
            )
            raise ConfigurationError(message)
        return bool(changed == task.epoch)

    def words_of(self, task: TaskId) -> Words:
        """Return words for `with_epoch_words`: 0 (no error), then the result of `check`."""
        return [0, int(self.check(task))]


def with_same_aggregator(df: DataFrame, known: SameAggregator) -> DataFrame:
    """Make the rows of a stream wait until one task has checked the query's aggregator."""
    waiting, words = with_epoch_words(df, known.words_of)
    if not known.code:
        return waiting
    listen(df.sparkSession, metrics={_METRIC: _receive})
    # Metrics of one query need different names. A metric cannot contain a subquery such as `words`,
    # so a column carries the value.
    name = f"{_METRIC}{uuid.uuid4().hex}-{known.spelled}"
    marked = waiting.withColumn(_COLUMN, F.get(words, F.lit(1)))
    return marked.observe(name, F.max(_COLUMN).alias(_CHANGED)).drop(_COLUMN)


def _receive(session: SparkSession | None, name: str, values: Any, progress: Any) -> None:
    del session
    if values.get(_CHANGED):
        spelled = name.removeprefix(_METRIC).partition("-")[2]
        logger.warning(
            "query %s: the functions of %s have changed since its checkpoint was written; states "
            "of old and new functions are combined from epoch %s on. Start with a new checkpoint "
            "if these states do not fit together",
            progress.id,
            spelled,
            progress.batchId,
        )
