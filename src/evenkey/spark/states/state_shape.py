"""The shape of keyed state: its columns and partitions, which stay the same as long as it lives."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.whole_files import digest_of
from evenkey.spark.sessions import returned
from evenkey.spark.slots import create, find
from evenkey.spark.states.state_plan import decoded, encoded

if TYPE_CHECKING:
    from evenkey.core.stores import Store

_NAME = "shape.json"


@returned
@dataclass(frozen=True)
class StateShape:
    """What all queries that use a state must agree on.

    Parameters
    ----------
    keys
        Name and Spark's type of each key column.
    columns
        Name and Spark's type of each column of the state.
    partitions
        Number of state partitions, P.
    timer
        The column of the state with the timer of the key; None: there are no timers.
    event_time
        Whether the clock is event time.
    expires
        Whether states expire, so that each state has the time at which it was written.
    """

    keys: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str], ...]
    partitions: int
    timer: str | None
    event_time: bool
    expires: bool

    @property
    def digest(self) -> str:
        """Digest of all fields, 128 bits in hexadecimal."""
        return digest_of(json.dumps(asdict(self)).encode())


def settled(store: Store, shape: StateShape, partitions: int | None) -> StateShape:
    """Store the shape of a state if it has none, and return the shape that is stored.

    Parameters
    ----------
    store
        Store of the state.
    shape
        The shape that a program needs.
    partitions
        The number of partitions that the user passed; None: any number is right.

    Raises
    ------
    ConfigurationError
        The state has another shape; the message names the first difference.
    RunError
        The state cannot be read or written.
    """
    if create(store, _NAME, encoded(asdict(shape))):
        return shape
    path, content = store.path(_NAME), find(store, _NAME)
    try:
        fields = decoded(content or b"", path)
        for name in ("keys", "columns"):
            fields[name] = tuple((each, kind) for each, kind in fields[name])
        found = StateShape(**fields)
    except ConfigurationError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        message = f"{path} cannot be read ({error}): restore it, or pass a new location as state"
        raise RunError(message) from error
    wanted = shape if partitions is not None else replace(shape, partitions=found.partitions)
    for name, value in asdict(wanted).items():
        other = asdict(found)[name]
        if other != value:
            message = (
                f"state {store.url} has {name} = {_shown(other)}, and this call has {name} = "
                f"{_shown(value)}: call stateful as the query that wrote the state did, or start "
                "with a new checkpoint and a new state"
            )
            raise ConfigurationError(message)
    return found


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(f"{name} {kind}" for name, kind in value)
    return str(value)
