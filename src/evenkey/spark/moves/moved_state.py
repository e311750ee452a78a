"""The record of a state that `rebalance` moved, which makes the moved state valid.

In a state directory, everything that `rebalance` writes for itself is in the folder `FOLDER`. Its
first object says that a move has begun, its last object is the record. A query that finds the first
without the last is refused, because keys would begin without their state.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from evenkey.core.errors import RunError
from evenkey.core.whole_files import check_format
from evenkey.spark.sessions import returned

if TYPE_CHECKING:
    from typing import Self

    from evenkey.core.stores import Store

FORMAT = 1
FOLDER = "rebalanced"
_BEGUN, _RECORD = "begun.json", "record.json"
_AGAIN = "run rebalance again with another state"


@returned
@dataclass(frozen=True)
class Variable:
    """A state variable of a processor.

    Parameters
    ----------
    name
        Name of the variable.
    kind
        ``value``, ``list`` or ``map``.
    types
        Types of its values, as Spark writes them; for a map, of its keys and of its values.
    """

    name: str
    kind: str
    types: tuple[str, ...]


@returned
@dataclass(frozen=True)
class MovedState:
    """What `rebalance` wrote, and where the new query begins to read.

    Parameters
    ----------
    checkpoint, query, batch
        Checkpoint of the old query, the query's id, and the batch after which its state was read.
    workers
        Number of workers of the new query.
    cost
        Cost of a key by which keys were planned, as for `rebalance`.
    positions
        For each source of the query, the position at which the new query begins to read, as JSON.
        For a source of Kafka this is the value of Spark's option ``startingOffsets``.
    watermark
        The watermark that the old query had reached, in milliseconds since 1970; 0 without one.
    states
        Number of state values: each value, list and entry of a map counts as one.
    timers
        Number of registered timers.
    time_mode
        Time mode of the old query, as ``timeMode`` of ``transformWithStateInPandas``.
    key_types
        Types of the key columns, as Spark writes them.
    variables
        The state variables.
    folder
        Folder of the state directory with the values, as Parquet.
    parts
        Names of the Parquet files in the state directory.
    """

    checkpoint: str
    query: str
    batch: int
    workers: int
    cost: str | None
    positions: tuple[str, ...]
    watermark: int
    states: int
    timers: int
    time_mode: str
    key_types: tuple[str, ...]
    variables: tuple[Variable, ...]
    folder: str
    parts: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the fields, as `of_json` reads them."""
        return asdict(self)

    @classmethod
    def of_json(cls, fields: dict[str, Any]) -> Self:
        """Read the fields that `to_json` returned, also after a round trip through JSON."""
        variables = tuple(
            Variable(each["name"], each["kind"], tuple(each["types"]))
            for each in fields["variables"]
        )
        lists = {name: tuple(fields[name]) for name in ("positions", "key_types", "parts")}
        return cls(**{**fields, **lists, "variables": variables})


def begun(store: Store) -> bool:
    """Return whether `rebalance` has begun to write into a state directory.

    Raises
    ------
    OSError
        The store cannot be read.
    """
    return store.under(FOLDER).find(_BEGUN) is not None


def begin(store: Store) -> None:
    """Write the first object of a move.

    Raises
    ------
    OSError
        The store cannot be written.
    """
    store.under(FOLDER).put(_BEGUN, json.dumps({"format": FORMAT}).encode(), durable=True)


def record(store: Store, moved: MovedState) -> MovedState:
    """Write the record, the last object of a move, unless there is one; return the stored record.

    Raises
    ------
    OSError
        The store cannot be written.
    RunError
        The stored record cannot be read.
    """
    content = json.dumps({"format": FORMAT, **moved.to_json()}, indent=1).encode()
    store.under(FOLDER).create(_RECORD, content, durable=True)
    stored = find(store)
    return moved if stored is None else stored


def parts_of(store: Store, folder: str) -> tuple[str, ...]:
    """Return the names of the Parquet files in a folder of a state directory, ascending.

    Raises
    ------
    OSError
        The store cannot be read.
    """
    return tuple(sorted(name for name in store.names(folder) if name.endswith(".parquet")))


def find(store: Store) -> MovedState | None:
    """Read the record of a state directory; None if `rebalance` has written none.

    Raises
    ------
    OSError
        The store cannot be read.
    RunError
        The record is corrupt.
    ConfigurationError
        The record has another format.
    """
    folder = store.under(FOLDER)
    content = folder.find(_RECORD)
    if content is None:
        return None
    path = folder.path(_RECORD)
    try:
        fields = json.loads(content)
        number = fields.pop("format", None)
    except (ValueError, TypeError, AttributeError) as error:
        message = f"{path} is corrupt ({error}): {_AGAIN}"
        raise RunError(message) from error
    check_format(path, number, FORMAT, _AGAIN)
    try:
        return MovedState.of_json(fields)
    except (KeyError, TypeError) as error:
        message = f"{path} is corrupt ({error!r}): {_AGAIN}"
        raise RunError(message) from error
