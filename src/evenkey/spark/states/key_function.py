"""Call the user's function with the rows and states of the keys of one partition."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.errors import RunError
from evenkey.spark.slots import ReturnedTables, explained
from evenkey.spark.states.key_batch import KeyBatch, by_key
from evenkey.spark.states.key_states import NONE, KeyStates, without_negative_zeros
from evenkey.spark.states.reserved_columns import ADDED, HASH, SEEN, TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evenkey.spark.states.key_batch import RowsByKey

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Parts(NamedTuple):
    """Partial states of the keys of some rows.

    Parameters
    ----------
    states
        One row for each key, with the columns of stored states but without `SEEN`. The columns of
        the state are null if the function returned no state for these rows.
    counts
        int64[n], number of rows of each key.
    """

    states: pa.Table
    counts: NDArray[np.int64]


class Called(NamedTuple):
    """What a call changed and returned.

    Parameters
    ----------
    states
        All states of the partition after the call.
    changes
        The rows of keys whose states were written, in ascending order of hashes; the columns of
        the state are null for a key that has no state any more.
    results
        The rows that the function returned.
    """

    states: KeyStates
    changes: pa.Table
    results: pa.Table


@dataclass(frozen=True, kw_only=True)
class KeyFunction:
    """The user's function, and what is needed to call it.

    Parameters
    ----------
    function
        Function that takes a `KeyBatch` and returns a table of states and a table of results.
    keys
        Key columns.
    stored
        Schema of stored states: column `HASH`, the key columns, the columns of the state, and
        column `SEEN` if states expire.
    shown
        Schema of the states that the function gets: key columns, and columns of the state.
    results
        Schema of the rows that the function returns.
    timer
        Column of the state with the timer; None: there is none.
    expire_after
        Microseconds after which a state that was not written has expired; None: never.
    name
        Name of the argument with the function, for messages.
    """

    function: Callable[[KeyBatch], Any]
    keys: tuple[str, ...]
    stored: pa.Schema
    shown: pa.Schema
    results: pa.Schema
    timer: str | None = None
    expire_after: int | None = None
    name: str = "function"

    @property
    def columns(self) -> list[str]:
        """Names of the columns of the state."""
        names: list[str] = self.shown.names[len(self.keys) :]
        return names

    def nothing(self) -> KeyStates:
        """Return the states of a partition that has none."""
        return KeyStates(self.stored.empty_table(), self.keys)

    def applied(self, states: KeyStates, changes: pa.Table) -> KeyStates:
        """Return the states after the changes that a piece has."""
        return states.changed(changes, self.gone(changes))

    def gone(self, states: pa.Table) -> NDArray[np.bool_]:
        """Return whether all columns of the state are null, bool[n]: the key has no state."""
        gone = np.ones(states.num_rows, dtype=bool)
        for name in self.columns:
            gone &= np.asarray(pc.is_null(states[name]))
        return gone

    def expired(self, states: KeyStates, now: int | None) -> NDArray[np.bool_]:
        """Return whether each state has expired, bool[n]."""
        if self.expire_after is None or now is None:
            return np.zeros(states.table.num_rows, dtype=bool)
        return _at_most(states.table[SEEN], now - self.expire_after)

    def next_timer(self, states: KeyStates) -> int | None:
        """Return the earliest timer, in microseconds; None: there is none."""
        if self.timer is None:
            return None
        least: int | None = pc.min(_micros(states.table[self.timer])).as_py()
        return least

    def __call__(
        self,
        states: KeyStates,
        rows: pa.Table,
        now: int | None,
        timed: NDArray[np.bool_] | None = None,
    ) -> Called:
        """Call the function with rows of a partition, and with keys whose timers are due.

        Parameters
        ----------
        states
            The states of the partition.
        rows
            Rows of the partition, with the columns `ADDED`.
        now
            Time of the clock, in microseconds; None: it is not known.
        timed
            bool[n], the states whose keys are in the call if their timers are due; None: all.

        Raises
        ------
        RunError
            The function raises an error, or returns something that does not match the schemas.
        """
        ordered = by_key(rows, self.keys)
        own = self._keys_of(ordered)
        expired = self.expired(states, now)
        before = states.find(own)
        waiting = self._waiting(states, before, expired if timed is None else expired | ~timed, now)
        before = np.concatenate((before, waiting))
        named = pa.concat_tables([own, self._named(states, waiting)])
        known = before != NONE
        known[known] &= ~expired[before[known]]
        kept = pa.array(np.where(known, before, 0), mask=~known)
        held = states.table.select(self.columns).take(kept)
        written, results = self._called(self._batch(named, held, ordered, now))
        seen = self._seen(ordered.rows, len(before), now)
        changes = self._joined(named, written, self.stored, seen)
        # A key that had no state and has none is left out.
        changes = changes.filter(pa.array(~self.gone(changes) | (before != NONE)))
        expired[before[before != NONE]] = False
        changes = pa.concat_tables([changes, self._deleted(states, np.flatnonzero(expired))])
        changes = changes.take(pa.array(np.argsort(changes[HASH].to_numpy(), kind="stable")))
        return Called(self.applied(states, changes), changes.combine_chunks(), results)

    def parts(self, rows: pa.Table, now: int | None) -> Parts:
        """Call the function with rows of keys without states; return their partial states.

        Each key has a partial state, also one of nulls: the function that merges partial states
        must see that the key has rows. Results are not used.

        Parameters
        ----------
        rows, now
            As for a call.

        Raises
        ------
        RunError
            As for a call.
        """
        ordered = by_key(rows, self.keys)
        own = self._keys_of(ordered)
        states = self.nothing().table.select(self.columns)
        held = states.take(pa.nulls(own.num_rows, pa.int64()))
        written, _ = self._called(self._batch(own, held, ordered, now))
        names = [name for name in self.stored.names if name != SEEN]
        kinds = pa.schema([self.stored.field(name) for name in names])
        counts = np.bincount(ordered.positions, minlength=own.num_rows)
        return Parts(self._joined(own, written, kinds), counts)

    def _keys_of(self, ordered: RowsByKey) -> pa.Table:
        """Return hash and columns of each key of some rows."""
        own = ordered.rows.select(self._identity.names).take(pa.array(ordered.firsts))
        return without_negative_zeros(own).cast(self._identity)

    def _batch(
        self, named: pa.Table, held: pa.Table, ordered: RowsByKey, now: int | None
    ) -> KeyBatch:
        added = [each for each in ADDED if each in ordered.rows.column_names]
        return KeyBatch(
            states=self._joined(named.drop_columns([HASH]), held, self.shown),
            rows=ordered.rows.drop_columns(added),
            positions=ordered.positions,
            due=self._due(held, now),
            now=None if now is None else _EPOCH + timedelta(microseconds=now),
        )

    @property
    def _identity(self) -> pa.Schema:
        """Schema of a key: its hash and its columns."""
        return pa.schema([self.stored.field(name) for name in (HASH, *self.keys)])

    def _named(self, states: KeyStates, rows: NDArray[np.int64]) -> pa.Table:
        """Return the keys of some rows of the states, with their hashes."""
        return states.table.select(self._identity.names).take(pa.array(rows))

    def _deleted(self, states: KeyStates, rows: NDArray[np.int64]) -> pa.Table:
        """Return changes that delete some rows of the states."""
        named = self._named(states, rows)
        nulls = [pa.nulls(len(rows), field.type) for field in self.stored][named.num_columns :]
        return pa.Table.from_arrays([*named.columns, *nulls], schema=self.stored)

    @staticmethod
    def _joined(
        keys: pa.Table, states: pa.Table, schema: pa.Schema, further: Sequence[pa.Array] = ()
    ) -> pa.Table:
        """Put the columns of keys and states side by side, in the types of a schema."""
        columns = [*keys.columns, *states.columns, *further]
        return pa.Table.from_arrays(columns, names=schema.names).cast(schema)

    def _waiting(
        self,
        states: KeyStates,
        before: NDArray[np.int64],
        left_out: NDArray[np.bool_],
        now: int | None,
    ) -> NDArray[np.int64]:
        """Return the rows of the keys whose timers are due, and that have no rows themselves."""
        if self.timer is None:
            return np.empty(0, dtype=np.int64)
        due = self._due(states.table, now) & ~left_out
        due[before[before != NONE]] = False
        return np.flatnonzero(due)

    def _due(self, states: pa.Table, now: int | None) -> NDArray[np.bool_]:
        if self.timer is None or now is None:
            return np.zeros(states.num_rows, dtype=bool)
        return _at_most(_micros(states[self.timer]), now)

    def _called(self, batch: KeyBatch) -> tuple[pa.Table, pa.Table]:
        kinds = pa.schema([self.shown.field(name) for name in self.columns])
        if not batch.states.num_rows:
            return kinds.empty_table(), self.results.empty_table()
        with explained(self.name):
            given = self.function(batch)
        if not isinstance(given, tuple) or len(given) != 2:  # noqa: PLR2004 - states and results
            message = (
                f"{self.name}: the function returned {type(given).__name__}: it must return a "
                "tuple: a table of states, and a table of results or None"
            )
            raise RunError(message)
        states, results = given
        if isinstance(states, pa.RecordBatch):
            states = pa.Table.from_batches([states])
        if isinstance(states, pa.Table):
            states = states.drop_columns(
                [each for each in self.keys if each in states.column_names]
            )
        kinds = pa.schema([self.shown.field(name) for name in self.columns])
        states = ReturnedTables(self.name, "state_schema", kinds, _EXPECTED).checked(states)
        if states.num_rows != batch.states.num_rows:
            message = (
                f"{self.name}: the function returned {states.num_rows} states for "
                f"{batch.states.num_rows} keys: return one row for each row of batch.states, in "
                "the same order; nulls in all columns delete a state"
            )
            raise RunError(message)
        if results is None:
            return states, self.results.empty_table()
        returned = ReturnedTables(self.name, "output_schema", self.results, _EXPECTED)
        return states, returned.checked(results)

    def _seen(self, rows: pa.Table, keys: int, now: int | None) -> list[pa.Array]:
        """Return the column `SEEN` of the written states, if states expire."""
        if self.expire_after is None:
            return []
        if now is None and TIME in rows.column_names and rows.num_rows:
            # In the first epoch with event times the clock is not known yet.
            now = pc.max(rows[TIME]).as_py()
        return [pa.array([now] * keys, pa.int64())]


_EXPECTED = "pyarrow Tables or RecordBatches"


def _micros(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert timestamps to microseconds since 1970, int64."""
    return times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64())


def _at_most(times: pa.ChunkedArray, limit: int) -> NDArray[np.bool_]:
    return np.asarray(pc.fill_null(pc.less_equal(times, limit), fill_value=False))
