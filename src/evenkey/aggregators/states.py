"""Convert states of folds to Arrow, and back to the Python types that ``zero`` has."""

from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Mapping, MutableMapping
from decimal import Decimal
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from evenkey.core.checking import shown
from evenkey.core.ddl import read_type
from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

NO_VALUES = (pa.ArrowException, TypeError, ValueError, OverflowError)
"""Exceptions that Arrow raises for an object that is not a value of a type."""
_SEQUENCES = (list, tuple, set, frozenset)


def check_state_type(what: str, state_type: object, *, pickle_state: object) -> pa.DataType | None:
    """Read the declared type of a fold's states.

    Parameters
    ----------
    what
        Name of the fold, for error messages.
    state_type
        The type as Spark writes it, or an Arrow type.
    pickle_state
        Whether states are pickled instead of stored by type.

    Returns
    -------
    pyarrow.DataType or None
        The type. None: states are pickled.

    Raises
    ------
    ConfigurationError
        Neither `state_type` nor `pickle_state` is given, or both are, or the type cannot be read.

    Examples
    --------
    >>> check_state_type("fold", "struct<rows: long, last: date>", pickle_state=False)
    StructType(struct<rows: int64, last: date32[day]>)
    """
    if not isinstance(pickle_state, bool):
        message = f"{what}: pickle_state = {shown(pickle_state)}: must be True or False"
        raise ConfigurationError(message)
    if pickle_state:
        if state_type is not None:
            message = (
                f"{what}: state_type = {shown(state_type)} and pickle_state = True: give only one"
            )
            raise ConfigurationError(message)
        return None
    if state_type is None:
        message = (
            f"{what}: state_type is missing: declare the type of a state as Spark writes it, such "
            "as state_type='bigint' or 'struct<rows: bigint, last: timestamp>', or pass "
            "pickle_state=True, with which anyone who can write the checkpoint can run code"
        )
        raise ConfigurationError(message)
    if isinstance(state_type, pa.DataType):
        return state_type
    return read_type(f"{what}: state_type", state_type)


def stored(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Convert states to an Arrow array.

    A struct may be a tuple or a dict; an array may be a list, tuple or set; a map is a dict.

    Raises
    ------
    pyarrow.ArrowException, TypeError, ValueError, OverflowError
        A state is not a value of the type.

    Examples
    --------
    >>> stored([(1, {"a": 2})], pa.struct({"n": pa.int8(), "m": pa.map_("string", "int8")}))[0]
    <pyarrow.StructScalar: [('n', 1), ('m', [('a', 2)])]>
    """
    return pa.array([_plain(value, kind) for value in values], kind)


def restored(column: pa.ChunkedArray, kind: pa.DataType, like: Any) -> list[Any]:
    """Convert states from Arrow back to Python objects.

    Parameters
    ----------
    column
        States as `stored` returned them, possibly after a round trip through Spark.
    kind
        The declared type.
    like
        A state with the Python types to return. A struct becomes a dict if `like` has a dict in
        its position, otherwise a tuple. An array becomes a set, frozenset or tuple if `like` has
        such an object in its position, otherwise a list. A map gets the class of the mapping that
        `like` has in its position, such as a Counter, otherwise dict.

    Examples
    --------
    >>> kind = pa.struct({"n": pa.int8(), "seen": pa.list_(pa.string())})
    >>> restored(pa.chunked_array([stored([(1, ["a"])], kind)]), kind, (0, frozenset()))
    [(1, frozenset({'a'}))]
    """
    if column.type != kind:
        column = column.cast(kind)  # Spark changes the time zone to that of its session
    return [_formed(value, kind, like) for value in column.to_pylist()]


def _plain(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if not pa.types.is_nested(kind):
        return _checked(value, kind)
    if pa.types.is_map(kind):
        if not isinstance(value, Mapping):
            message = f"the value of a map column must be a dict, not {shown(value)}"
            raise TypeError(message)
        return [
            (_plain(key, kind.key_type), _plain(each, kind.item_type))
            for key, each in value.items()
        ]
    if pa.types.is_struct(kind):
        return {
            field.name: _plain(each, field.type)
            for field, each in zip(kind, _parts(value, kind), strict=True)
        }
    if not isinstance(value, _SEQUENCES):
        message = f"the value of an array column must be a list, tuple or set, not {shown(value)}"
        raise TypeError(message)
    return [_plain(each, kind.value_type) for each in value]


def _checked(value: Any, kind: pa.DataType) -> Any:
    """Raise for a value that Arrow would change: 1.5 to an int, text to bytes, a time to a date."""
    fits = True
    if pa.types.is_integer(kind):
        fits = isinstance(value, Integral) and not isinstance(value, bool)
    elif pa.types.is_floating(kind):
        fits = isinstance(value, Real) and not isinstance(value, bool)
    elif pa.types.is_string(kind):
        fits = isinstance(value, str)
    elif pa.types.is_binary(kind):
        fits = isinstance(value, bytes | bytearray)
    elif pa.types.is_date(kind):
        fits = isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    elif pa.types.is_timestamp(kind):
        fits = isinstance(value, dt.datetime) and (value.tzinfo is None) == (kind.tz is None)
    elif pa.types.is_decimal(kind):
        fits = isinstance(value, Decimal | Integral)
    if not fits:
        message = f"storing {shown(value)} as {kind} would change it"
        raise TypeError(message)
    return value


def _parts(value: Any, kind: pa.StructType) -> list[Any]:
    """Return the fields of a struct in order."""
    names = [field.name for field in kind]
    if isinstance(value, Mapping):
        if set(value) != set(names):
            message = f"its fields are {sorted(map(str, value))}, not {sorted(names)}"
            raise ValueError(message)
        return [value[name] for name in names]
    if not isinstance(value, tuple | list) or len(value) != len(names):
        message = (
            "the value of a struct column must be a tuple or dict of the "
            f"{len(names)} fields {', '.join(names)}"
        )
        raise ValueError(message)
    return list(value)


def _formed(value: Any, kind: pa.DataType, like: Any) -> Any:
    if value is None or not pa.types.is_nested(kind):
        return value
    if pa.types.is_map(kind):
        entries = {
            _formed(key, kind.key_type, None): _formed(each, kind.item_type, None)
            for key, each in value
        }
        if not isinstance(like, MutableMapping):
            return entries
        made = copy.copy(like)  # keeps the class, such as Counter, and a defaultdict's factory
        made.clear()
        made.update(entries)
        return made
    if pa.types.is_struct(kind):
        named = isinstance(like, Mapping)
        given = isinstance(like, tuple | list) and len(like) == kind.num_fields
        found = {}
        for number, field in enumerate(kind):
            within = like.get(field.name) if named else like[number] if given else None
            found[field.name] = _formed(value[field.name], field.type, within)
        return found if named else tuple(found.values())
    items = [_formed(each, kind.value_type, None) for each in value]
    return type(like)(items) if type(like) in _SEQUENCES else items
