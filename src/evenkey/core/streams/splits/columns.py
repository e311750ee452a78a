"""The columns of a record that make a message."""

from __future__ import annotations

import base64
import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Self

EVENT_TIME = "event_time"
"""Name of the column with the event time of a message, if records have one."""
TIMES = pa.timestamp("us", "UTC")
_VALUE = "value_"


def value_name(number: int) -> str:
    """Return the internal name of value column `number`, because users' names can be any text."""
    return f"{_VALUE}{number}"


def read_names(text: str) -> tuple[str, ...]:
    """Read column names separated by commas; a name with a comma must be in double quotes.

    Examples
    --------
    >>> read_names("user"), read_names("region, user"), read_names('"last, first",age')
    (('user',), ('region', 'user'), ('last, first', 'age'))
    """
    if "," not in text and '"' not in text:
        return (text,)
    return tuple(next(csv.reader([text], skipinitialspace=True), []))


def spell_names(names: Iterable[str]) -> str:
    """Write column names as one text that `read_names` can read."""
    names = list(names)
    if len(names) == 1 and read_names(names[0]) == (names[0],):
        return names[0]
    spelled = io.StringIO()
    if any(name != name.strip() for name in names):
        csv.writer(spelled, lineterminator="", quoting=csv.QUOTE_ALL).writerow(names)
    else:
        csv.writer(spelled, lineterminator="").writerow(names)
    return spelled.getvalue()


def check_there(path: str | Path, names: Iterable[str], there: Sequence[str]) -> None:
    """Check that a file has each column exactly once.

    Raises
    ------
    ConfigurationError
        A column is missing, or two columns have the same name.
    """
    for name in names:
        if there.count(name) != 1:
            many = "two columns" if name in there else "no column"
            message = f"input {path} has {many} {name!r}; it has: {', '.join(there)}"
            raise ConfigurationError(message)


@dataclass(frozen=True)
class Columns:
    """The columns, or fields, of a record that make a message.

    Parameters
    ----------
    key
        Columns of the key; several columns make a composite key.
    count
        Column of the message's weight. None: each message weighs 1.
    time
        Column of the message's event time. None: records have no time.
    values
        Other columns to read, each with its type.

    Examples
    --------
    >>> Columns("user", time="when", values=(("amount", pa.float64()),)).names
    ('user', 'when', 'amount')
    """

    key: tuple[str, ...]
    count: str | None = None
    time: str | None = None
    values: tuple[tuple[str, pa.DataType], ...] = ()

    def __init__(
        self,
        key: str | Iterable[str],
        count: str | None = None,
        time: str | None = None,
        values: Iterable[tuple[str, pa.DataType]] = (),
    ) -> None:
        keys = (key,) if isinstance(key, str) else tuple(key)
        given = {"key": keys, "count": count, "time": time, "values": tuple(values)}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read, each once."""
        counts = () if self.count is None else (self.count,)
        return tuple(dict.fromkeys((*self.key, *counts, *self.others)))

    @property
    def others(self) -> tuple[str, ...]:
        """The columns of the time and the values, each once."""
        every = (self.time, *(name for name, _ in self.values))
        return tuple(dict.fromkeys(name for name in every if name is not None))

    @property
    def extra(self) -> pa.Schema:
        """Columns of messages besides key and count: the event time, then the values by number."""
        time = [(EVENT_TIME, TIMES)] if self.time is not None else []
        values = [(value_name(i), kind) for i, (_, kind) in enumerate(self.values)]
        return pa.schema([*time, *values])

    def to_json(self) -> dict[str, Any]:
        """Convert the columns to values that JSON can represent."""
        types = pa.schema(list(self.values)).serialize().to_pybytes()
        return {
            "key": list(self.key),
            "count": self.count,
            "time": self.time,
            "values": base64.b64encode(types).decode(),
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """Restore the columns from the result of `to_json`."""
        types = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(kept["values"])))
        values = tuple((field.name, field.type) for field in types)
        return cls(kept["key"], kept["count"], kept["time"], values)
