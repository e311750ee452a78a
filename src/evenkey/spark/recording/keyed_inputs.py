"""The inputs of an intercepted call, each with the hash of its key by which evenkey plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError
from evenkey.spark.groups.group_keys import (
    keyed,
    listed,
    unplaceable,
    unplaceable_in_window,
)
from evenkey.spark.joins.join_keys import join_keys, without_null
from evenkey.spark.joins.join_on import JoinOn, join_on
from evenkey.spark.keys.given_columns import (
    check_own_names,
    find_columns,
    hash_of,
    quoted,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from evenkey.spark.intercepted import InterceptedCall


class KeyedInput(NamedTuple):
    """An input of a call.

    Parameters
    ----------
    frame
        The input, perhaps with columns that evenkey added for the key.
    columns
        The key columns.
    hashed
        Hash of the key; null for rows that no plan has to place, such as those that a join cannot
        match.
    """

    frame: DataFrame
    columns: tuple[Column, ...]
    hashed: Column


def keyed_inputs(call: InterceptedCall) -> list[KeyedInput]:
    """Return the inputs of a call with their keys.

    Raises
    ------
    ConfigurationError
        evenkey cannot place rows by these keys; the message says why.
    """
    if call.kind == "join":
        return _of_join(call)
    if call.kind == "write":
        (frame,), (names,) = call.frames, call.keys
        check_own_names(frame)
        columns = tuple(quoted(name) for name in find_columns(frame, names, "partitionBy"))
        return [KeyedInput(frame, columns, hash_of(columns, nulls_apart=True))]
    found = []
    for frame, given in zip(call.frames, call.keys, strict=True):
        keys = keyed(frame, listed(given))
        reason = (unplaceable_in_window if call.kind == "window" else unplaceable)(keys)
        if reason is not None:
            raise ConfigurationError(reason)
        found.append(KeyedInput(keys.frame, tuple(keys.columns), keys.hashed))
    return found


def _of_join(call: InterceptedCall) -> list[KeyedInput]:
    (left, right), (on,) = call.frames, call.keys
    compared: JoinOn = join_on(on, left, right)
    sides = compared.keyed(left, right)
    keys = join_keys(*sides)
    if isinstance(keys, str):
        raise ConfigurationError(keys)
    return [
        KeyedInput(side, columns, F.when(without_null(columns), hash_of(columns)))
        for side, columns in zip(sides[:2], (keys.left, keys.right), strict=True)
    ]
