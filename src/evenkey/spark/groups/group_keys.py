"""Turn the keys of a groupBy (names, columns, positions) into columns to shuffle by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, FloatType

from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError
from evenkey.spark.keys.given_columns import (
    OWN,
    check_own_names,
    find_columns,
    has_collation,
    hash_of,
    parts_of_type,
    quoted,
    quoted_name,
    unlogged_errors,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

_UNHASHED = frozenset(
    {
        "CalendarIntervalType",
        "GeographyType",
        "GeometryType",
        "MapType",
        "NullType",
        "UserDefinedType",
        "VariantType",
    }
)
"""Types without a hash, by name, because some versions of Spark do not have them."""


@dataclass(frozen=True)
class Keys:
    """A DataFrame and its key columns.

    Parameters
    ----------
    frame
        The user's DataFrame, with an added column for each key that is an expression.
    names
        Names of the key columns, as `frame` spells them.
    own
        Names of the added key columns.
    shown
        Names of the keys in results.
    user_names
        Original names of the user's columns, if `for_python` renamed these columns; empty if not.
    """

    frame: DataFrame
    names: tuple[str, ...]
    own: tuple[str, ...]
    shown: tuple[str, ...]
    user_names: tuple[str, ...] = ()

    @property
    def columns(self) -> list[Column]:
        """The key columns."""
        return [quoted(name) for name in self.names]

    @property
    def quoted_names(self) -> list[str]:
        """Names of the key columns, quoted, so that a name may have any character."""
        return [quoted_name(name) for name in self.names]

    @property
    def types(self) -> list[DataType]:
        """Types of the key columns."""
        return [self.frame.schema[name].dataType for name in self.names]

    @property
    def hashed(self) -> Column:
        """Hash of the key, which plans use. Equal keys of a DataFrame have equal hashes."""
        return hash_of(self.columns)

    def for_python(self) -> Keys:
        """Return these keys, on a DataFrame with column names that Spark can pass to Python.

        When Spark passes rows to Python, it looks columns up by name again, and reads ``a.b`` as a
        field of a struct. If Spark would misread a name, all columns get numbered names.
        """
        users = self.frame.columns[: len(self.frame.columns) - len(self.own)]
        folded = {name.lower() for name in users}
        if not any(map(_is_odd, users)) and len(folded) == len(users):
            return self
        numbered = [f"{OWN}column_{number}" for number in range(len(users))]
        named = dict(zip(users, numbered, strict=True))
        return replace(
            self,
            frame=self.frame.toDF(*numbered, *self.own),
            names=tuple(named.get(name, name) for name in self.names),
            user_names=tuple(users),
        )


def listed(keys: Sequence[object]) -> list[str | Column | int]:
    """Return the arguments of ``groupBy`` as a list of keys; users may also pass one list of keys.

    Raises
    ------
    ConfigurationError
        A key is not a name, a column or a position.
    """
    every: list[object] = list(keys)
    if (
        len(every) == 1
        and isinstance(every[0], Iterable)
        and not isinstance(every[0], str | Column)
    ):
        every = list(every[0])
    found: list[str | Column | int] = []
    for key in every:
        if isinstance(key, bool) or not isinstance(key, str | Column | int):
            message = (
                f"key = {shown(key)}: must be a column's name, a Column, or a column's position "
                "from 1 on; pass 'name'"
            )
            raise ConfigurationError(message)
        found.append(key)
    return found


def keyed(
    df: DataFrame,
    keys: Sequence[str | Column | int],
    others: Mapping[str, Column] = MappingProxyType({}),
) -> Keys:
    """Find the key columns; an expression is added to the DataFrame as a column.

    Parameters
    ----------
    df, keys
        The rows and their keys.
    others
        More columns to add. They are added together with the keys, so that ``*`` in an expression
        is always the columns of `df`.

    Raises
    ------
    ConfigurationError
        There is no such column, or the DataFrame has a column with a reserved name.
    """
    check_own_names(df)
    added: dict[str, Column] = {}
    names: list[str] = []
    texts: list[str] = []
    for number, key in enumerate(keys):
        plain = _plain(df, key)
        if plain is None:
            expression = F.col(str(key)) if isinstance(key, str | int) else key
            texts.append(df.select(expression).columns[0])
            name = f"{OWN}key_{number}"
            added[name] = expression
        else:
            texts.append(plain)
            name = plain
        names.append(name)
    every = {**added, **others}
    frame = df.withColumns(every) if every else df
    return Keys(frame, tuple(names), tuple(added), tuple(texts))


def expression_of(df: DataFrame, key: str | Column | int) -> str | Column | int:
    """Return a key as Spark's own ``groupBy`` takes it.

    A column is quoted if Spark may misread its name.

    Raises
    ------
    ConfigurationError
        There is no such column.
    """
    if isinstance(key, Column) or (isinstance(key, str) and not _is_odd(key)):
        return key
    plain = _plain(df, key)
    return key if plain is None or not _is_odd(plain) else quoted(plain)


def _plain(df: DataFrame, key: str | Column | int) -> str | None:
    """Return the name of a key that is a column of the DataFrame; None: it is an expression."""
    if isinstance(key, Column):
        return None
    if isinstance(key, int):
        if not 1 <= key <= len(df.columns):
            message = f"key = {key}: the positions of the columns are 1 to {len(df.columns)}"
            raise ConfigurationError(message)
        return find_columns(df, df.columns[key - 1])[0]
    # Spark reads a.b as a field of a struct, and removes quotes from a name.
    if _is_odd(key):
        return key if key in df.columns and not _resolves(df, key) else None
    return find_columns(df, key)[0]


def _is_odd(name: str) -> bool:
    """Return whether Spark may read a name as something other than the name of a column."""
    return name in ("", "*") or "." in name or "`" in name


def _resolves(df: DataFrame, key: str) -> bool:
    with unlogged_errors():
        try:
            return bool(df.select(key).columns)
        except AnalysisException:
            return False


def unplaceable(keys: Keys) -> str | None:
    """Return why rows cannot be placed by the hash of their key; None: they can."""
    for text, kind in zip(keys.shown, keys.types, strict=True):
        for part in parts_of_type(kind):
            if has_collation(part):
                return f"{text} has a collation, by which keys with different bytes can be equal"
        if not has_hash(kind):
            return f"{text} is of type {kind.simpleString()}, which has no hash"
    return None


def unplaceable_in_window(keys: Keys) -> str | None:
    """Return why rows of a window cannot be placed by the hash of their key; None: they can."""
    for text, kind in zip(keys.shown, keys.types, strict=True):
        if any(isinstance(part, DoubleType | FloatType) for part in parts_of_type(kind)):
            return f"{text} has floating-point numbers, which Spark normalizes first"
    return unplaceable(keys)


def has_hash(kind: DataType) -> bool:
    """Return whether Spark hashes values of a type."""
    types = (each.__name__ for part in parts_of_type(kind) for each in type(part).__mro__)
    return _UNHASHED.isdisjoint(types)
